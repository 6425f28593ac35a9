package house_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zktest"
)

// The election that people copy compiles as it is printed, is as short as it is
// said to be, commands with numbers that rise, and resigns at Ctrl-C: the next
// candidate need not wait for a session to time out.
func TestTheReadmesElectionRuns(t *testing.T) {
	program := readmesGo(t, "election.New(")
	_, elect, _ := strings.Cut(program, "\nfunc elect(")
	elect, _, found := strings.Cut(elect, "\n}\n")
	require.True(t, found)
	require.Equal(t, 20, strings.Count(elect, "\n")+2)

	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built)
	if runtime.GOOS == "windows" {
		t.Skip("no process can be sent a Ctrl-C here")
	}
	const address = "127.0.0.1:2181"
	require.Contains(t, program, address)
	server := zktest.New(t)
	build(t, strings.Replace(program, address, server.Addr(), 1), built)

	cmd := exec.CommandContext(t.Context(), built)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	for n := range 3 { // 0 is the floor
		require.True(t, lines.Scan(), "%s", &log)
		require.Regexp(t, fmt.Sprintf("^command with 0x[0-9a-f]+:%d$", n), lines.Text())
	}
	began := time.Now()
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	for lines.Scan() { // Wait closes it
	}
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit, "%s", &log)
	require.Equal(t, 1, exit.ExitCode())
	require.Less(t, time.Since(began), 10*time.Second, "its session lives for 15")
	require.Contains(t, log.String(), "interrupt")
	require.Empty(t, server.Children("/elections/scheduler"))
}

// A receiver that knows of a later term before the leader does is no end of the
// candidate: it waits for the loss, and leads again with a larger token.
func TestTheReadmesElectionOutlivesAStaleTerm(t *testing.T) {
	program := readmesGo(t, "election.New(")
	server := zktest.New(t)
	program = strings.Replace(program, "127.0.0.1:2181", server.Addr(), 1)
	const happy = "\treturn nil\n}\n\nfunc main"
	require.Contains(t, program, happy)
	program = strings.Replace(program, happy, "\tswitch stamp.Seq {\n\tcase 0:\n\t\treturn fencing.ErrZeroSeq // as its Ledger does\n\tcase 1:\n\t\treturn fencing.ErrStale\n\t}\n"+happy, 1)
	const wait = "\n\t\t\t<-ctx.Done()\n"
	require.Contains(t, program, wait)
	program = strings.Replace(program, wait, "\n\t\t\tfmt.Println(\"waits\")"+wait, 1)
	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built)

	cmd := exec.CommandContext(t.Context(), built)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	cmd.Stderr = &log
	require.NoError(t, cmd.Start())
	lines := bufio.NewScanner(out)
	stamp := func() fencing.Stamp {
		require.True(t, lines.Scan(), "%s", &log)
		s, err := fencing.ParseStamp(strings.TrimPrefix(lines.Text(), "command with "))
		require.NoError(t, err)
		return s
	}
	floor := stamp()
	require.Zero(t, floor.Seq)
	require.Equal(t, fencing.Stamp{Token: floor.Token, Seq: 1}, stamp())
	require.True(t, lines.Scan(), "%s", &log)
	require.Equal(t, "waits", lines.Text())
	server.ExpireAll()
	again := stamp()
	require.Zero(t, again.Seq)
	require.Positive(t, again.Token.Compare(floor.Token))
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
}

// The service that people copy refuses exactly what a Gate refuses, floors
// included.
func TestTheReadmesServiceIsTheRule(t *testing.T) {
	service := readmesGo(t, "package ledger")
	ctx := t.Context()
	gate := fencing.NewGate(fencing.Stamp{})
	var calls, want strings.Builder
	for _, s := range story(t) {
		fmt.Fprintf(&calls, "\tapply(&l, %q)\n", s)
		var err error
		ran := false
		if s.Seq == 0 {
			if err = gate.Raise(s.Token); err == nil {
				err = fencing.ErrZeroSeq
			}
		} else {
			err = gate.Admit(ctx, s, func() error { ran = true; return nil })
		}
		fmt.Fprintln(&want, s, ran, err)
	}
	program := `package main

import (
	"fmt"

	"` + module + `/fencing"
	"` + module + `/internal/house/readme/ledger"
)

func apply(l *ledger.Ledger, text string) {
	s, err := fencing.ParseStamp(text)
	if err != nil {
		panic(err)
	}
	ran := false
	err = l.Apply(s, func() error { ran = true; return nil })
	fmt.Println(s, ran, err)
}

func main() {
	var l ledger.Ledger
` + calls.String() + "}\n"
	built := filepath.Join(t.TempDir(), "readme")
	build(t, program, built, map[string]string{"ledger": service})
	out, err := exec.CommandContext(ctx, built).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, want.String(), string(out))
}
