package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/zktest"
)

// programEnv makes the test binary be the program: a child process is what people
// start, signal and wait for.
const programEnv = "ZKFENCE_ZKTEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(programEnv) != "" {
		main()
	}
	goleak.VerifyTestMain(m)
}

// child is the program in a process of its own.
type child struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr bytes.Buffer
	addr   string
}

// start runs the program until it serves.
func start(t *testing.T, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], args...)}
	c.cmd.Env = append(os.Environ(), programEnv+"=1")
	c.cmd.Stderr = &c.stderr
	c.cmd.WaitDelay = 5 * time.Second
	var err error
	c.stdin, err = c.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	c.stdout = bufio.NewReader(out)
	require.NoError(t, c.cmd.Start())
	line, err := c.stdout.ReadString('\n')
	if err != nil {
		err = c.cmd.Wait()
		t.Fatalf("it does not serve: %v: %s", err, c.stderr.String())
	}
	serving := regexp.MustCompile(`^serving on (127\.0\.0\.1:[1-9][0-9]*)\n$`).FindStringSubmatch(line)
	require.NotNil(t, serving, "%q", line)
	c.addr = serving[1]
	return c
}

// do has the program carry out a command, and returns its answer.
func (c *child) do(command string) string {
	c.t.Helper()
	_, err := io.WriteString(c.stdin, command+"\n")
	require.NoError(c.t, err)
	var answer strings.Builder
	for {
		line, err := c.stdout.ReadString('\n')
		require.NoError(c.t, err)
		answer.WriteString(line)
		if !strings.HasPrefix(line, "  ") {
			return answer.String()
		}
	}
}

// ends waits for the program, and wants status 0 and nothing more on its output.
func (c *child) ends() {
	c.t.Helper()
	rest, err := io.ReadAll(c.stdout)
	require.NoError(c.t, err)
	require.Empty(c.t, string(rest))
	err = c.cmd.Wait()
	require.NoError(c.t, err, c.stderr.String())
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func (c *child) connect() *zk.Conn {
	c.t.Helper()
	conn, events, err := zk.Connect([]string{c.addr}, 10*time.Second, zk.WithLogger(quiet{}))
	require.NoError(c.t, err)
	c.t.Cleanup(func() {
		conn.Close()
		for range events { // closed once the client has ended
		}
	})
	return conn
}

func TestServesUntilASignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("this system cannot interrupt another process")
	}
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		for _, args := range [][]string{{"-addr", "127.0.0.1:0"}, {"-addr", "127.0.0.1:0", "-commands"}} {
			t.Run(signal.String()+strings.Join(args[2:], ""), func(t *testing.T) {
				c := start(t, args...)
				path, err := c.connect().Create("/a", []byte("b"), 0, zk.WorldACL(zk.PermAll))
				require.NoError(t, err)
				require.Equal(t, "/a", path)
				require.NoError(t, c.cmd.Process.Signal(signal))
				c.ends()
				require.Empty(t, c.stderr.String())
				_, err = net.Dial("tcp", c.addr)
				require.Error(t, err)
			})
		}
	}
}

// Without -commands the input is nobody's business: a service manager gives none,
// and a shell stops a background job that reads from the terminal.
func TestTheInputIsLeftAloneUnlessAskedFor(t *testing.T) {
	c := start(t, "-addr", "127.0.0.1:0")
	require.NoError(t, c.stdin.Close())
	_, err := c.connect().Create("/a", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.NoError(t, c.cmd.Process.Kill())
	require.Error(t, c.cmd.Wait())
}

func TestEndsWithItsCommands(t *testing.T) {
	c := start(t, "-addr", "127.0.0.1:0", "-commands")
	require.Equal(t, "ok\n", c.do("drop-reply create"))
	_, err := c.connect().Create("/lost", nil, 0, zk.WorldACL(zk.PermAll))
	require.ErrorIs(t, err, zk.ErrConnectionClosed)
	require.Equal(t, "  lost\n  zookeeper\nok\n", c.do("children /"))
	require.NoError(t, c.stdin.Close())
	c.ends()
}

func TestFlagsReachTheServer(t *testing.T) {
	c := start(t, "-addr", "127.0.0.1:0", "-commands", "-trace", "-tick", "3s",
		"-min-timeout", "4s", "-max-timeout", "7s", "-legacy-sequence", "-container-interval", "0")
	conn := c.connect() // asks for 10 s
	for _, path := range []string{"/c", "/e"} {
		_, err := conn.CreateContainer(path, nil, zk.FlagContainer, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	_, err := conn.Create("/e/once", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	require.NoError(t, conn.Delete("/e/once", -1))
	require.Regexp(t, `^  0x[0-9a-f]+ 7s connected\nok\n$`, c.do("sessions"))

	require.Equal(t, "ok\n", c.do("set-sequence /c 2147483647"))
	for _, want := range []string{"/c/n-2147483647", "/c/n--2147483648"} {
		path, err := conn.Create("/c/n-", nil, zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		require.Equal(t, want, path)
	}
	require.Equal(t, "  1\nok\n", c.do("reap"))
	require.NoError(t, c.stdin.Close())
	c.ends()
	require.Regexp(t, `(?m)^time=.* level=INFO msg=answered .* session=0x\w+ op=createContainer path=/c xid=\d+ err=ok zxid=0x\w+ `, c.stderr.String())
}

// Ids follow from the address as well, so this is about one address.
func TestASeedSaysWhichSessionsThereAre(t *testing.T) {
	first := func(args ...string) int64 {
		o, err := parse(args, io.Discard)
		require.NoError(t, err)
		n := zktest.NewNetwork(1)
		defer n.Close()
		l, err := n.Listen("192.0.2.1:2181")
		require.NoError(t, err)
		s, err := zktest.Start(append(o.server(), zktest.WithListener(l))...)
		require.NoError(t, err)
		defer s.Close()
		conn, events, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}), zk.WithDialer(n.Dialer("a")))
		require.NoError(t, err)
		for e := range events {
			if e.State == zk.StateHasSession {
				break
			}
		}
		conn.Close()
		for range events {
		}
		return s.Requests()[0].Session
	}
	require.Equal(t, first("-seed", "5"), first("-seed", "5"))
	require.NotEqual(t, first("-seed", "5"), first("-seed", "6"))
	require.Equal(t, first(), first("-seed", "1"))
}

func TestRefusesWhatMakesNoSense(t *testing.T) {
	for _, c := range []struct {
		args string
		want string
	}{
		{"-tick soon", `invalid value "soon" for flag -tick: parse error`},
		{"-tick 0s", `-tick 0s: must be at least 1ms`},
		{"-min-timeout -1s", `-min-timeout -1s: must be at least 1ms`},
		{"-min-timeout 5s -max-timeout 2s", `-max-timeout 2s: must not be less than -min-timeout 5s`},
		{"-container-interval -1ns", `-container-interval -1ns: must be 0 or at least 1ms`},
		{"-max-timeout 600h", `-max-timeout 600h0m0s: must be at most 596h31m23.647s, for a handshake can tell no more`},
		{"-ensemble 0", `-ensemble 0: must be from 1 to 9 servers`},
		{"-ensemble 10", `-ensemble 10: must be from 1 to 9 servers`},
		{"-seed x", `invalid value "x" for flag -seed: parse error`},
		{"-addr localhost", `-addr "localhost": must be host:port`},
		{"-proxy 2181", `-proxy "2181": must be host:port`},
		{"-proxy 127.0.0.1:2181 -tick 1s", `-tick 1s: has no meaning with -proxy, which takes a free port in front of a server that has settings of its own`},
		{"-proxy 127.0.0.1:2181 -addr 127.0.0.1:0", `-addr 127.0.0.1:0: has no meaning with -proxy, which takes a free port in front of a server that has settings of its own`},
		{"-speed 3", `flag provided but not defined: -speed`},
		{"serve", `unexpected argument "serve"`},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run(t.Context(), strings.Fields(c.args), nil, &stdout, &stderr), c.args)
		require.Equal(t, "zktest: "+c.want+"\n", stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestSaysWhyItCannotServe(t *testing.T) {
	taken := zktest.New(t).Addr()
	for args, want := range map[string]string{
		"-addr " + taken:            `^zktest: -addr ` + taken + `: .*in use`,
		"-addr 127.0.0.1:99999":     `^zktest: -addr 127\.0\.0\.1:99999: .*invalid port`,
		"-proxy 192.0.2.1:2181":     `^zktest: zktest: proxy target "192\.0\.2\.1:2181": only a loopback`,
		"-proxy zk.example.org:218": `^zktest: zktest: proxy target "zk\.example\.org:218": only a loopback`,
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, 1, run(t.Context(), strings.Fields(args), nil, &stdout, &stderr), args)
		require.Regexp(t, want, stderr.String())
		require.Empty(t, stdout.String())
	}
}

func TestHelpIsNoFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	require.Zero(t, run(t.Context(), []string{"-help"}, nil, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-legacy-sequence")
}

func TestSaysWhoElseCanReachIt(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:1", "[::1]:1"} {
		require.Empty(t, openness(addr))
	}
	for _, addr := range []string{"0.0.0.0:1", "[::]:1", "192.0.2.1:1"} {
		require.Equal(t, "other machines may reach "+addr+", and it lets everybody in", openness(addr))
	}
}

// Who has started the program and is gone reads no answers.
func TestEndsWhenNobodyReads(t *testing.T) {
	for _, input := range []string{"", "heal\n"} {
		gone, w := io.Pipe()
		if input == "" {
			require.NoError(t, gone.Close())
		}
		in := io.MultiReader(strings.NewReader(input), &blocked{t.Context()})
		if input != "" {
			go func() {
				_, _ = bufio.NewReader(gone).ReadString('\n')
				_ = gone.Close()
			}()
		}
		var stderr bytes.Buffer
		require.Equal(t, 1, run(t.Context(), []string{"-addr", "127.0.0.1:0", "-commands"}, in, w, &stderr))
		require.Equal(t, "zktest: io: read/write on closed pipe\n", stderr.String())
	}
}

// blocked is an input that has nothing, and does not end.
type blocked struct{ ctx context.Context }

func (b *blocked) Read([]byte) (int, error) { <-b.ctx.Done(); return 0, io.EOF }
