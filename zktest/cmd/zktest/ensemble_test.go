package main

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// An ensemble in one process: one connect string, and faults on one server, on all,
// or between them.
func TestEnsemble(t *testing.T) {
	story := func(name string, play func(d *desk)) {
		t.Run(name, func(t *testing.T) { play(sit(t, "-addr", "127.0.0.1:0", "-ensemble", "3")) })
	}

	story("ServesAtThreeAddresses", func(d *desk) {
		require.Len(d, strings.Split(d.t.addr, ","), 3)
		d.ok("create /a/b data")
		require.Equal(d, "  \"data\"\nok\n", d.do("get /a/b"), "wherever it was written")
		for line, want := range map[string]string{"/w hello  world ": "hello  world", "/x  three\ttimes data": "three\ttimes data", "/y": ""} {
			d.ok(" create\t" + line)
			require.Equal(d, "  "+strconv.Quote(want)+"\nok\n", d.do("get "+strings.Fields(line)[0]))
		}
		require.NoError(d, d.create("/a/e"))
		_, err := d.conn.Sync("/")
		require.NoError(d, err)
		require.Equal(d, "  3\nok\n", d.do("leader"))
		require.Equal(d, "  \"data\"\nok\n", d.do("on 3 get /a/b"))
		require.Equal(d, "  1\nok\n", d.do("count create"), "wherever the client is")
		require.Equal(d, 3, strings.Count(d.do("trace"), "  server "))
		require.Equal(d, 0, strings.Count(d.do("on 2 trace"), "  server "))
	})

	story("ALeaderIsKilledAndComesBack", func(d *desk) {
		require.NoError(d, d.create("/a"))
		d.ok("kill 3")
		require.Contains(d, []string{"  1\nok\n", "  2\nok\n"}, d.do("await-leader 10s"))
		d.ok("restart 3")
		d.await(zk.StateHasSession)
		for !d.exists("/a") { // an error fails the test; a follower may be late
		}
		d.ok("elect")
		require.Regexp(d, `^  [123]\nok\n$`, d.do("await-leader 10s"))
	})

	story("ALeaderIsDeposed", func(d *desk) {
		require.Equal(d, "  3\nok\n", d.do("depose"))
		require.Contains(d, []string{"  1\nok\n", "  2\nok\n"}, d.do("await-leader 10s"))
		d.ok("heal")
		d.ok("isolate 1")
		d.ok("isolate 2")
		require.Equal(d, "error: there is no leader\n", d.do("depose"))
		d.ok("heal")
		require.Regexp(d, `^  [123]\nok\n$`, d.do("await-leader 10s"))
	})

	story("NobodyWaitsForALeaderUnasked", func(d *desk) {
		d.ok("isolate 1")
		d.ok("isolate 2")
		began := time.Now()
		require.Equal(d, "error: there is no leader: heal or restart brings back a majority, and await-leader waits for an election\n", d.do("leader"))
		require.Equal(d, "error: there is no leader after 20ms\n", d.do("await-leader 20ms"))
		require.Less(d, time.Since(began), 9*time.Second)
		d.ok("heal")
		require.Regexp(d, `^  [123]\nok\n$`, d.do("await-leader 10s"))
	})

	story("AFaultOnOneServerLeavesTheOthers", func(d *desk) {
		for _, k := range []string{"1", "2", "3"} {
			d.ok("on " + k + " refuse on")
			d.ok("on " + k + " cut")
		}
		d.await(zk.StateDisconnected)
		d.ok("on 2 refuse off")
		d.await(zk.StateHasSession)
		require.Equal(d, strings.Split(d.t.addr, ",")[1], d.conn.Server())
		d.ok("on 2 for " + d.id + " drop-request create")
		require.ErrorIs(d, d.create("/a"), zk.ErrConnectionClosed)
	})

	story("OneLags", func(d *desk) {
		d.ok("lag 1 1h")
		d.ok("create /late")
		require.Equal(d, "error: children of \"/late\": zktest: no such znode\n", d.do("on 1 children /late"))
		require.Equal(d, "ok\n", d.do("on 3 children /late"))
		require.Equal(d, "ok\n", d.do("children /late"))
		d.ok("heal")
	})

	story("OperatorsTalkToTheLeader", func(d *desk) {
		d.ok("isolate 1")
		require.NotEqual(d, "  1\nok\n", d.do("await-leader 10s"))
		d.ok("create /a")
		d.ok("set-sequence /a 7")
		d.ok("delete /a")
		require.Equal(d, "  0\nok\n", d.do("reap"))
		d.ok("expire " + d.id)
		d.ok("heal")
		d.await(zk.StateExpired)
	})

	story("SaysWhatIsWrong", func(d *desk) {
		for line, want := range map[string]string{
			"on 0 cut":       `"0": no server, which has a number from 1 to 3`,
			"on 4 cut":       `"4": no server, which has a number from 1 to 3`,
			"on x cut":       `"x": no server, which has a number from 1 to 3`,
			"on 1":           scopes,
			"on 1 wipe":      `wipe: does not act on less than the whole`,
			"on 1 for 7 get": `get: does not act on less than the whole`,
			"isolate 4":      `"4": no server, which has a number from 1 to 3`,
			"lag 1 -1s":      `"-1s": no duration, which is like 300ms or 2s`,
			"await-leader x": `"x": no duration, which is like 300ms or 2s`,
			"lag 1 soon":     `"soon": no duration, which is like 300ms or 2s`,
		} {
			require.Equal(d, "error: "+want+"\n", d.do(line), line)
		}
	})
}

func TestAnEnsembleTakesThePortsThatFollow(t *testing.T) {
	_, err := parse([]string{"-addr", "127.0.0.1:65534", "-ensemble", "3"}, nil)
	require.EqualError(t, err, "-ensemble 3 -addr 127.0.0.1:65534: the last server's port would be 65536, and there are none above 65535")
	_, err = parse([]string{"-addr", "127.0.0.1:65533", "-ensemble", "3"}, nil)
	require.NoError(t, err)
}

func TestTheAddressIsTheOneThatWasAskedFor(t *testing.T) {
	for _, n := range []string{"1", "3"} {
		o, err := parse([]string{"-addr", "0.0.0.0:0", "-ensemble", n}, nil)
		require.NoError(t, err)
		s, err := o.start()
		require.NoError(t, err)
		t.Cleanup(s.close)
		require.Regexp(t, `^(0\.0\.0\.0:[1-9][0-9]*,?)+$`, s.addr)
	}
}
