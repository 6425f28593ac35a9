package main

import (
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

var everyone = zk.WorldACL(zk.PermAll)

// desk is a target with a client of it and what has been asked for.
type desk struct {
	*testing.T
	t      *target
	conn   *zk.Conn
	id     string
	states chan zk.State
}

// soon has its client connect again without the second's wait of the usual one.
type soon struct {
	servers []string
	next    int
}

func (p *soon) Init(servers []string) error { p.servers = servers; return nil }
func (p *soon) Len() int                    { return len(p.servers) }
func (p *soon) Connected()                  {}
func (p *soon) Next() (server string, retryStart bool) {
	<-time.After(5 * time.Millisecond)
	p.next++
	return p.servers[p.next%len(p.servers)], false
}

// sit starts what args say, in this process.
func sit(t *testing.T, args ...string) *desk {
	t.Helper()
	if len(args) == 0 {
		args = []string{"-addr", "127.0.0.1:0"}
	}
	o, err := parse(args, io.Discard)
	require.NoError(t, err)
	d := &desk{T: t}
	d.t, err = o.start()
	require.NoError(t, err)
	t.Cleanup(d.t.close)
	// The client drops events when its own channel is full.
	d.states = make(chan zk.State, 1<<16)
	var events <-chan zk.Event
	d.conn, events, err = zk.Connect(strings.Split(d.t.addr, ","), 10*time.Second, zk.WithLogger(quiet{}), zk.WithHostProvider(&soon{}),
		zk.WithEventCallback(func(e zk.Event) { d.states <- e.State }))
	require.NoError(t, err)
	t.Cleanup(func() {
		d.do("heal")
		d.conn.Close()
		for range events {
		}
	})
	d.await(zk.StateHasSession)
	d.id = strconv.FormatInt(d.conn.SessionID(), 10)
	return d
}

func (d *desk) await(want zk.State) {
	d.Helper()
	for limit := time.After(30 * time.Second); ; {
		select {
		case is := <-d.states:
			if is == want {
				return
			}
		case <-limit:
			d.Fatalf("the client is not %v\n%s", want, d.do("trace 30"))
		}
	}
}

// do carries out one line and returns what obey would print.
func (d *desk) do(line string) string {
	d.Helper()
	var out strings.Builder
	require.NoError(d, d.t.obey(strings.NewReader(line+"\n"), &out))
	return out.String()
}

func (d *desk) ok(line string) {
	d.Helper()
	require.Equal(d, "ok\n", d.do(line), line)
}

func (d *desk) create(path string) error {
	_, err := d.conn.Create(path, nil, zk.FlagEphemeral, everyone)
	return err
}

func (d *desk) exists(path string) bool {
	found, _, err := d.conn.Exists(path)
	require.NoError(d, err)
	return found
}

// The same faults by the same words, on the server itself and in front of one.
func TestFaultCommands(t *testing.T) {
	for _, c := range []struct {
		name string
		args func(*testing.T) []string
	}{
		{"Server", func(*testing.T) []string { return nil }},
		{"Proxy", func(t *testing.T) []string { return []string{"-proxy", zktest.New(t).Addr()} }},
	} {
		story := func(name string, play func(d *desk)) {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				play(sit(t, c.args(t)...))
			})
		}

		story("DropReply", func(d *desk) {
			d.ok("drop-reply create 2")
			require.ErrorIs(d, d.create("/a"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.ErrorIs(d, d.create("/b"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.NoError(d, d.create("/c"))
			require.True(d, d.exists("/a") && d.exists("/b") && d.exists("/c"))
		})

		story("DropRequestOfAnyKind", func(d *desk) {
			d.ok("drop-request any")
			require.ErrorIs(d, d.create("/a"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.False(d, d.exists("/a"))
		})

		story("ScopedToASession", func(d *desk) {
			require.Equal(d, "error: session 0x7: no client has been given it\n", d.do("for 0x7 drop-request create -1"))
			require.NoError(d, d.create("/a"))
			d.ok("for " + d.id + " drop-request create -1")
			require.ErrorIs(d, d.create("/b"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			d.ok("heal") // another scope
			require.ErrorIs(d, d.create("/b"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			d.ok("for 0x" + strconv.FormatInt(d.conn.SessionID(), 16) + " heal")
			require.NoError(d, d.create("/b"))
		})

		story("AnyCreateAndPending", func(d *desk) {
			d.ok("drop-reply create2")
			d.ok("for " + d.id + " drop-reply any-create 2")
			require.Equal(d, "  3\nok\n", d.do("pending"))
			require.Equal(d, "  2\nok\n", d.do("for "+d.id+" pending"))
			_, err := d.conn.CreateContainer("/c", nil, zk.FlagContainer, everyone)
			require.ErrorIs(d, err, zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.ErrorIs(d, d.create("/a"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.Equal(d, "  1\nok\n", d.do("pending"), "this client never sends create2")
			require.Equal(d, "  2\nok\n", d.do("count any-create"))
		})

		story("FailReply", func(d *desk) {
			d.ok("fail-reply any-create no-auth")
			d.ok("for " + d.id + " fail-reply exists -118 1")
			require.ErrorIs(d, d.create("/a"), zk.ErrNoAuth)
			_, _, err := d.conn.Exists("/a")
			require.ErrorIs(d, err, zk.ErrSessionMoved)
			require.False(d, d.exists("/a"))
			require.NoError(d, d.create("/a"))
			require.Equal(d, "  0\nok\n", d.do("pending"))
			require.Contains(d, d.do("trace 10"), `create "/a" xid=`)
		})

		story("ScopedToAHost", func(d *desk) {
			d.ok("from 192.0.2.1 cut")
			require.Equal(d, zk.StateHasSession, d.conn.State())
			d.ok("from 127.0.0.1 cut")
			d.await(zk.StateDisconnected)
		})

		story("RefuseAndCut", func(d *desk) {
			d.ok("refuse on")
			d.ok("cut")
			d.await(zk.StateDisconnected)
			d.await(zk.StateDisconnected) // again, for every try
			d.ok("refuse off")
			d.await(zk.StateHasSession)
		})

		for _, freeze := range []string{"freeze", "freeze to-server", "freeze to-client"} {
			story(strings.ReplaceAll(freeze, " ", "-"), func(d *desk) {
				d.ok(freeze)
				asked := make(chan error, 1)
				go func() { asked <- d.create("/a") }()
				d.meanwhile(asked)
				d.ok("unfreeze")
				require.NoError(d, <-asked)
			})
		}

		story("Blackhole", func(d *desk) {
			d.ok("blackhole on")
			asked := make(chan error, 1)
			go func() { asked <- d.create("/a") }()
			d.meanwhile(asked)
			d.ok("blackhole off")
			d.ok("cut") // it is deaf for life
			require.ErrorIs(d, <-asked, zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			require.False(d, d.exists("/a"))
		})

		story("HalfHandshake", func(d *desk) {
			d.ok("half-handshake on")
			d.ok("cut")
			d.await(zk.StateConnected)
			d.ok("half-handshake off")
			d.ok("cut")
			d.await(zk.StateHasSession)
		})

		story("ZxidAhead", func(d *desk) {
			require.NoError(d, d.create("/a"))
			d.ok("zxid-ahead on")
			d.ok("cut")
			for range 2 {
				d.await(zk.StateConnected)
				d.await(zk.StateDisconnected)
			}
			d.ok("zxid-ahead off")
			d.await(zk.StateHasSession)
			require.Equal(d, d.id, strconv.FormatInt(d.conn.SessionID(), 10))
		})

		story("NewSession", func(d *desk) {
			d.ok("new-session")
			d.ok("cut")
			d.await(zk.StateHasSession)
			require.NotEqual(d, d.id, strconv.FormatInt(d.conn.SessionID(), 10))
		})

		story("Steal", func(d *desk) {
			d.ok("steal 1")
			require.ErrorIs(d, d.create("/_c_mine"), zk.ErrConnectionClosed)
			d.await(zk.StateHasSession)
			_, stat, err := d.conn.Get("/_c_mine")
			require.NoError(d, err)
			require.NotEqual(d, d.conn.SessionID(), stat.EphemeralOwner)
		})

		story("Expire", func(d *desk) {
			require.NoError(d, d.create("/a"))
			d.ok("expire " + d.id)
			d.await(zk.StateExpired)
			d.await(zk.StateHasSession)
			require.False(d, d.exists("/a"))
			require.Contains(d, d.do("expire 0x7"), "error: ")
		})

		story("CountsAndTrace", func(d *desk) {
			d.ok("reset-counts")
			for _, path := range []string{"/a", "/b"} {
				require.NoError(d, d.create(path))
			}
			d.exists("/a")
			require.Equal(d, "  3\nok\n", d.do("count"))
			require.Equal(d, "  2\nok\n", d.do("count create"))
			require.Equal(d, "  0\nok\n", d.do("for "+d.id+" count delete"))
			require.Regexp(d, `^  +\d+ .* create "/b" .*\n  +\d+ .* exists "/a" .*\n  sessions: .*\nok\n$`, d.do("trace 2"))
			require.Equal(d, "ok\n", d.do("from 192.0.2.1 trace"))
			d.ok("reset-counts")
			require.Equal(d, "  0\nok\n", d.do("count create"))
		})
	}
}

// meanwhile checks that nothing comes: the fault layer has the request, and its
// sender no answer.
func (d *desk) meanwhile(asked <-chan error) {
	d.Helper()
	for d.t.faults[0].Count(zktest.OpCreate) == 0 {
		select {
		case err := <-asked:
			d.Fatalf("answered: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	select {
	case err := <-asked:
		d.Fatalf("answered: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
}

func TestServerCommands(t *testing.T) {
	d := sit(t)
	d.ok("")
	d.ok("create /a/b data")
	require.Equal(d, "  \"data\"\nok\n", d.do("get /a/b"))
	require.Equal(d, "  b\nok\n", d.do("children /a"))
	require.NoError(d, d.create("/a/e"))
	require.Equal(d, "  0x"+strconv.FormatInt(d.conn.SessionID(), 16)+" 10s connected /a/e\nok\n", d.do("sessions"))
	d.ok("set-sequence /a 41")
	path, err := d.conn.Create("/a/n-", nil, zk.FlagSequence, everyone)
	require.NoError(d, err)
	require.Equal(d, "/a/n-0000000041", path)
	d.ok("delete /a")
	require.False(d, d.exists("/a"))

	d.ok("stall on")
	asked := make(chan error, 1)
	go func() { asked <- d.create("/s") }()
	d.meanwhile(asked)
	d.ok("stall off")
	require.NoError(d, <-asked)

	d.ok("expire-all")
	d.await(zk.StateExpired)
	d.await(zk.StateHasSession)
	d.ok("wipe")
	require.Equal(d, "  zookeeper\nok\n", d.do("children /"))
}

func TestCommandsSayWhatIsWrong(t *testing.T) {
	d := sit(t)
	for line, want := range map[string]string{
		"jump":                 `"jump": no such command; help lists them`,
		"cut 1":                `usage: cut`,
		"drop-reply":           `usage: drop-reply OP [TIMES]`,
		"drop-reply a b c":     `usage: drop-reply OP [TIMES]`,
		"drop-reply Create":    `"Create": no operation; they are called as in create, getChildren2 or closeSession; any is all but ping and createSession, any-create every create`,
		"drop-request notify":  `"notify": no operation; they are called as in create, getChildren2 or closeSession; any is all but ping and createSession, any-create every create`,
		"drop-reply create 0":  `"0": no number of times, which is 1 unless given, and -1 for always`,
		"steal often":          `"often": no number of times, which is 1 unless given, and -1 for always`,
		"new-session 1.5":      `"1.5": no number of times, which is 1 unless given, and -1 for always`,
		"refuse yes":           `"yes": must be on or off`,
		"freeze both":          `"both": must be to-server or to-client, or nothing for both`,
		"trace 0":              `"0": no number of lines`,
		"fail-reply any ok":    `"ok": no error, which is like no-node or -101`,
		"fail-reply any 0":     `"0": no error, which is like no-node or -101`,
		"fail-reply any":       `usage: fail-reply OP ERROR [TIMES]`,
		"set /none x":          `set "/none": zktest: no such znode`,
		"count all":            `"all": no operation; they are called as in create, getChildren2 or closeSession; any is all but ping and createSession, any-create every create`,
		"for":                  scopes,
		"for 7":                scopes,
		"for x cut":            `"x": no session id, which is decimal or 0x and hexadecimal`,
		"for 7 wipe":           `wipe: does not act on less than the whole`,
		"on 1 cut":             `servers have numbers only with -ensemble`,
		"leader":               `leader: only with -ensemble`,
		"for 7 for 8 cut":      `"for": no such command; help lists them`,
		"expire":               `usage: expire SESSION`,
		"expire 0":             `"0": no session id, which is decimal or 0x and hexadecimal`,
		"expire 0x7":           `expire 0x7: zktest: no such session`,
		"delete /none":         `delete "/none": zktest: no such znode`,
		"get /none":            `get "/none": zktest: no such znode`,
		"children /none":       `children of "/none": zktest: no such znode`,
		"create none":          `zktest: create "none": not a valid path`,
		"delete none":          `delete "none": zktest: no such znode: not a valid path`,
		"get none":             `get "none": zktest: no such znode: not a valid path`,
		"set none x":           `set "none": zktest: no such znode: not a valid path`,
		"set-sequence none 1":  `set sequence of "none": zktest: no such znode: not a valid path`,
		"set-sequence / many":  `"many": no number from -2147483648 to 2147483647`,
		"set-sequence / 1e9":   `"1e9": no number from -2147483648 to 2147483647`,
		"set-sequence /none 1": `set sequence of "/none": zktest: no such znode`,
	} {
		require.Equal(t, "error: "+want+"\n", d.do(line), line)
	}
	require.Equal(t, zk.StateHasSession, d.conn.State(), "none of it has done anything")
	require.NoError(t, d.create("/a"))
}

func TestAProxyHasNoServersCommands(t *testing.T) {
	d := sit(t, "-proxy", zktest.New(t).Addr())
	for _, c := range append(local(), global()...) {
		if c.needs == aServer {
			require.Equal(t, "error: "+c.name+": not with -proxy\n", d.do(c.name+" / 1"))
			require.NotContains(t, d.do("help"), "  "+c.usage()+" ")
		}
	}
}

// A command that help does not show is one that nobody finds.
func TestHelpListsEveryCommand(t *testing.T) {
	help := sit(t, "-addr", "127.0.0.1:0", "-ensemble", "3").do("help")
	for _, c := range slices.Concat(scoped(), local(), global()) {
		require.Regexp(t, `(?m)^  \Q`+c.usage()+`\E +\Q`+c.help+`\E$`, help)
	}
}

func TestSessionIDs(t *testing.T) {
	for text, want := range map[string]int64{
		"255": 255, "0xff": 255, "-1": -1, "0xffffffffffffffff": -1, "18446744073709551615": -1, "-0x8000000000000000": -1 << 63,
	} {
		got, err := session(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "0", "0x0", "ff", "0x1ffffffffffffffff", "-", "1 2"} {
		_, err := session(text)
		require.Error(t, err, text)
	}
}
