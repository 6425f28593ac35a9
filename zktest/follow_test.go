package zktest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// told returns what a follower has been told, without when.
func told(entries []zktest.Entry) (lines []string) {
	for _, e := range entries {
		line := e.Kind.String()
		for _, word := range []string{e.Host, e.Fault, e.Note, e.Path} {
			if word != "" {
				line += " " + word
			}
		}
		if e.Op != 0 {
			line += " " + e.Op.String()
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTheEndOfASessionIsOnItsConnection(t *testing.T) {
	s := zktest.New(t)
	ended := make(chan zktest.Entry, 1)
	s.Follow(func(e zktest.Entry) {
		if e.Kind == zktest.Ended {
			ended <- e
		}
	})
	s.Refuse(true) // what is refused has a number as well
	dialRaw(t, s.Addr()).gone()
	s.Refuse(false)
	connectRaw(t, s.Addr()).must(wire.OpCloseSession, nil)
	require.Equal(t, 2, (<-ended).Conn)
}

func TestFollow(t *testing.T) {
	follow := func(target *zktest.Target) *[]zktest.Entry {
		var got []zktest.Entry
		target.Follow(func(e zktest.Entry) { got = append(got, e) })
		return &got
	}

	t.Run("TellsEverythingInOrder", func(t *testing.T) {
		inScene(t, func(w *scene) {
			got := follow(&w.srv.Target)
			a := w.raw("A", long)
			a.must(wire.OpExists, watched("/n", true))
			a.must(wire.OpCreate, create("/n", "", 0, open...))
			w.srv.From("A").DropReply(zktest.OpDelete, 1)
			a.send(wire.OpDelete, versioned("/n", -1))
			a.gone()
			b, _, err := w.back("A", a)
			require.NoError(w, err)
			require.NoError(w, w.srv.Expire(a.session))
			b.gone()
			w.srv.Refuse(true)
			c, err := w.net.Dialer("B")("tcp", sceneAddr, time.Second)
			require.NoError(w, err)
			hungUp(t, rawOver(w, c))
			synctest.Wait() // the last entry is from a goroutine of the server
			require.Equal(w, []string{
				"opened A", "asked A createSession", "began A", "answered A createSession",
				"asked A /n exists", "answered A /n exists",
				"asked A /n create", "notified A NodeCreated /n", "answered A /n create",
				"acted A DropReply delete ×1", "asked A /n delete", "broke A DropReply /n delete", "answered A DropReply /n delete",
				"closed A", "opened A", "asked A createSession", "answered A createSession",
				"acted Expire", "ended A expired", "closed A",
				"acted Refuse on", "opened B Refuse",
			}, told(*got))
			for i := range *got {
				require.True(w, i == 0 || (*got)[i].At >= (*got)[i-1].At, "%s", (*got)[i])
			}
			answer := (*got)[8]
			require.Equal(w, wire.OK, answer.Err)
			require.True(w, answer.Answered)
			require.Positive(w, answer.Took)
			require.False(w, (*got)[6].Answered)
			require.Equal(w, (*got)[6].N, answer.N, "of the same request")
		})
	})

	t.Run("ATargetIsToldOfItselfAndOfWhatWasDoneToEverybody", func(t *testing.T) {
		inScene(t, func(w *scene) {
			host := follow(w.srv.From("A"))
			a, b := w.raw("A", long), w.raw("B", long)
			session := follow(w.srv.For(b.session))
			a.must(wire.OpPing, nil)
			b.must(wire.OpPing, nil)
			w.srv.ZxidAhead(true)
			w.srv.From("B").Heal()
			b.must(wire.OpCloseSession, nil)
			b.gone()
			synctest.Wait() // the last entry is from a goroutine of the server
			require.Equal(w, []string{
				"opened A", "asked A createSession", "began A", "answered A createSession",
				"asked A ping", "answered A ping", "acted ZxidAhead on",
			}, told(*host))
			synctest.Wait() // the last entry is from a goroutine of the server
			require.Equal(w, []string{
				"asked B ping", "answered B ping", "acted ZxidAhead on",
				"asked B closeSession", "ended B closed by its client", "answered B closeSession", "closed B",
			}, told(*session))
		})
	})

	t.Run("StopEndsItAndAFollowerMayMakeFaults", func(t *testing.T) {
		inScene(t, func(w *scene) {
			var got []zktest.Entry
			var stop func()
			stop = w.srv.Follow(func(e zktest.Entry) {
				got = append(got, e)
				if e.Op == zktest.OpCreate {
					stop()
					w.srv.Cut()
				}
			})
			a := w.raw("A", long)
			a.send(wire.OpCreate, create("/n", "", 0, open...))
			a.gone()
			synctest.Wait()
			require.Equal(w, "asked", got[len(got)-1].Kind.String())
			require.Len(w, got, 5)
		})
	})

	t.Run("AProxyInfersTheEndsOfSessions", func(t *testing.T) {
		s := zktest.New(t)
		p := zktest.NewProxy(t, s.Addr())
		ended := make(chan string, 10)
		p.Follow(func(e zktest.Entry) {
			if e.Kind == zktest.Ended {
				ended <- fmt.Sprintf("%#x %s", uint64(e.Session), e.Note)
			}
		})
		a, b := connectRaw(t, p.Addr()), connectRaw(t, p.Addr())
		a.must(wire.OpCloseSession, nil)
		require.Equal(t, fmt.Sprintf("%#x closed by its client", uint64(a.session)), <-ended)
		require.NoError(t, s.Expire(b.session))
		hungUp(t, b)
		_, _ = resumed(t, b, p.Addr())
		require.Equal(t, fmt.Sprintf("%#x expired", uint64(b.session)), <-ended)
	})
}

func TestLogTo(t *testing.T) {
	inScene(t, func(w *scene) {
		var out bytes.Buffer
		w.srv.Follow(zktest.LogTo(slog.New(slog.NewJSONHandler(&out, nil))))
		a := w.raw("A", long)
		a.must(wire.OpPing, nil)
		a.must(wire.OpDelete, versioned("/none", -1))
		w.srv.Cut()
		synctest.Wait()
		var got []map[string]any
		for d := json.NewDecoder(&out); d.More(); {
			var line map[string]any
			require.NoError(w, d.Decode(&line))
			delete(line, "time")
			delete(line, "at")
			delete(line, "took")
			got = append(got, line)
		}
		session := fmt.Sprintf("%#x", uint64(a.session))
		require.Len(w, got, 6, "neither the connection nor the ping: they are logged at debug level")
		require.Equal(w, map[string]any{"level": "INFO", "msg": "answered", "n": 3.0, "conn": 1.0, "host": "A", "session": session,
			"op": "delete", "path": "/none", "xid": 2.0, "err": "no node", "zxid": "0x2"}, got[4])
		require.Equal(w, map[string]any{"level": "WARN", "msg": "acted", "n": 4.0, "fault": "Cut"}, got[5])
	})
}

// Whoever has no follower does not pay for one.
func TestNobodyFollowsCostsNothing(t *testing.T) {
	s := zktest.New(t)
	c := connectRaw(t, s.Addr())
	ping := func() { c.must(wire.OpPing, nil) }
	without := testing.AllocsPerRun(200, ping)
	defer s.Follow(func(zktest.Entry) {})()
	require.Less(t, without, testing.AllocsPerRun(200, ping))
}
