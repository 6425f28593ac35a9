package zktest_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestSessions(t *testing.T) {
	tick := zktest.WithTick(2 * time.Second)

	t.Run("ExpireAtTheTickAfterTheirTimeout", func(t *testing.T) {
		inScene(t, func(w *scene) {
			start := time.Now()
			time.Sleep(time.Second)
			a := w.raw("A", 4*time.Second)
			require.Equal(t, 4*time.Second, a.timeout)
			// Touched after 1 s and something: due after 5 s and something, ends at 6 s.
			time.Sleep(6*time.Second - time.Since(start) - time.Nanosecond)
			require.Len(t, w.srv.Sessions(), 1)
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.Empty(t, w.srv.Sessions())
			a.gone()
		}, tick)
	})

	t.Run("LiveWhileTheirClientPings", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", 4*time.Second)
			for range 100 {
				time.Sleep(3 * time.Second)
				a.must(wire.OpPing, nil)
			}
			require.Len(t, w.srv.Sessions(), 1)
		}, tick)
	})

	t.Run("OutliveTheirConnection", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", 4*time.Second)
			a.must(wire.OpCreate, create("/e", "", 1, open...))
			require.NoError(t, a.nc.Close())
			time.Sleep(3 * time.Second)
			require.False(t, w.srv.Sessions()[0].Connected)
			require.Equal(t, []string{"/e"}, w.srv.Sessions()[0].Ephemerals)
			time.Sleep(5 * time.Second)
			require.Empty(t, w.srv.Sessions())
			require.False(t, w.srv.Exists("/e"))
		}, tick)
	})

	t.Run("NegotiateTheirTimeoutAtEveryHandshake", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", 10*time.Second)
			b := w.dial("A")
			resp, err := b.handshake(wire.ConnectRequest{TimeoutMs: 4000, Session: a.session, Password: a.password})
			require.NoError(t, err)
			require.Equal(t, a.session, resp.Session)
			require.Equal(t, 4*time.Second, b.timeout)
			time.Sleep(7 * time.Second)
			require.Empty(t, w.srv.Sessions(), "the new timeout counts")
		}, tick)
	})

	t.Run("AreGrantedBetweenTwoAndTwentyTicks", func(t *testing.T) {
		inScene(t, func(w *scene) {
			require.Equal(t, 4*time.Second, w.raw("A", 0).timeout)
			require.Equal(t, 4*time.Second, w.raw("A", -time.Second).timeout)
			require.Equal(t, 40*time.Second, w.raw("A", time.Hour).timeout)
		}, tick)
	})

	t.Run("AreGrantedWhatWithSessionTimeoutsSays", func(t *testing.T) {
		inScene(t, func(w *scene) {
			require.Equal(t, time.Second, w.raw("A", 0).timeout)
			require.Equal(t, 90*time.Second, w.raw("A", time.Hour).timeout)
		}, zktest.WithSessionTimeouts(time.Second, 90*time.Second), tick)
	})

	t.Run("TakeAllTheirEphemeralsUnderOneZxid", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a, b := w.raw("A", 4*time.Second), w.raw("B", 40*time.Second)
			for _, p := range []string{"/x", "/y"} {
				b.must(wire.OpCreate, create(p, "", 0, open...))
				a.must(wire.OpCreate, create(p+"/2", "", 1, open...))
				a.must(wire.OpCreate, create(p+"/1", "", 1, open...))
				b.must(wire.OpGetChildren, watched(p, true))
				b.must(wire.OpGetData, watched(p+"/1", true))
				a.must(wire.OpGetData, watched(p+"/1", true))
			}
			before := w.srv.Zxid()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			require.Equal(t, before+1, w.srv.Zxid())
			for _, p := range []string{"/x", "/y"} {
				_, stat, err := w.srv.Get(p)
				require.NoError(t, err)
				require.Equal(t, before+1, stat.Pzxid)
			}
			_, events, err := b.call(wire.OpPing, nil)
			require.NoError(t, err)
			require.Equal(t, []string{
				"event type=2 state=3 path=/x/1 zxid=-1", "event type=4 state=3 path=/x zxid=-1",
				"event type=2 state=3 path=/y/1 zxid=-1", "event type=4 state=3 path=/y zxid=-1",
			}, events)
			// Its own connection hears of it too, and then of nothing.
			for _, p := range []string{"/x/1", "/y/1"} {
				f, err := a.next()
				require.NoError(t, err)
				require.Equal(t, "event type=2 state=3 path="+p+" zxid=-1", eventString(f))
			}
			a.gone()
		}, tick)
	})

	t.Run("EndOnOneTickInTheOrderOfTheirIDs", func(t *testing.T) {
		inScene(t, func(w *scene) {
			watcher := w.raw("W", 40*time.Second)
			watcher.must(wire.OpCreate, create("/d", "", 0, open...))
			for range 5 {
				w.raw("A", 4*time.Second).must(wire.OpCreate, create("/d/", "", 3, open...))
			}
			var want []string
			for _, s := range w.srv.Sessions() {
				for _, p := range s.Ephemerals {
					watcher.must(wire.OpGetData, watched(p, true))
					want = append(want, "event type=2 state=3 path="+p+" zxid=-1")
				}
			}
			time.Sleep(8 * time.Second)
			_, events, err := watcher.call(wire.OpPing, nil)
			require.NoError(t, err)
			require.Equal(t, want, events)
		}, tick)
	})

	t.Run("ServeNothingAfterTheirEnd", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			// In one write, so that the server has both before it can hang up.
			both := wire.AppendFrame(nil, wire.RequestHeader{Xid: 1, Op: wire.OpCloseSession}.Append(nil))
			e := wire.Encoder{Buf: wire.RequestHeader{Xid: 2, Op: wire.OpCreate}.Append(nil)}
			create("/a", "", 0, open...)(&e)
			_, err := a.nc.Write(wire.AppendFrame(both, e.Buf))
			require.NoError(t, err)
			f, err := a.next()
			require.NoError(t, err)
			require.EqualValues(t, 1, f.Xid)
			a.gone()
			require.False(t, w.srv.Exists("/a"))
			require.Empty(t, w.srv.Sessions())
		})
	})

	t.Run("DifferBetweenServers", func(t *testing.T) {
		// A client that comes to the wrong server must not be let in.
		a, b := zktest.New(t), zktest.New(t)
		c := connectRaw(t, a.Addr())
		connectRaw(t, b.Addr())
		other := dialRaw(t, b.Addr())
		resp, err := other.again(c, 0)
		require.NoError(t, err)
		require.Zero(t, resp.Session)
	})
}

func TestStall(t *testing.T) {
	inScene(t, func(w *scene) {
		a := w.raw("A", 4*time.Second)
		time.Sleep(3 * time.Second)
		w.srv.Stall(true)
		w.srv.Stall(true)
		xid := a.send(wire.OpCreate, create("/a", "", 0, open...))
		time.Sleep(time.Hour)
		require.Len(t, w.srv.Sessions(), 1, "nothing expires")
		require.False(t, w.srv.Exists("/a"), "nothing is processed")
		w.srv.Stall(false)
		f, err := a.next()
		require.NoError(t, err)
		require.Equal(t, xid, f.Xid)
		require.True(t, w.srv.Exists("/a"))
		time.Sleep(10 * time.Second)
		require.Empty(t, w.srv.Sessions(), "the clock goes on")
	}, zktest.WithTick(2*time.Second))
}

func TestContainers(t *testing.T) {
	inScene(t, func(w *scene) {
		a := w.raw("A", 40*time.Second)
		a.must(wire.OpCreateContainer, create("/c", "", 4, open...))
		a.must(wire.OpCreateContainer, create("/unused", "", 4, open...))
		a.must(wire.OpCreate, create("/c/child", "", 0, open...))
		time.Sleep(30 * time.Second)
		a.must(wire.OpGetData, watched("/c", true))
		require.Zero(t, w.srv.ReapContainers(), "it has a child")
		// After the clock has last looked because of a session.
		time.Sleep(29 * time.Second)
		a.must(wire.OpDelete, versioned("/c/child", -1))
		require.True(t, w.srv.Exists("/c"))
		before := w.srv.Zxid()
		time.Sleep(2 * time.Second)
		require.False(t, w.srv.Exists("/c"), "reaped at the minute")
		require.Equal(t, before+1, w.srv.Zxid())
		require.True(t, w.srv.Exists("/unused"), "it never had a child")
		_, events, err := a.call(wire.OpPing, nil)
		require.NoError(t, err)
		require.Equal(t, []string{"event type=2 state=3 path=/c zxid=-1"}, events)
	}, zktest.WithTick(2*time.Second))
}

func TestOptions(t *testing.T) {
	for name, opt := range map[string]zktest.Option{
		"tick 0s":                          zktest.WithTick(0),
		"session timeouts from 2s to 1s":   zktest.WithSessionTimeouts(2*time.Second, time.Second),
		"container interval -1s":           zktest.WithContainerInterval(-time.Second),
		"session timeouts from 0s to 1m0s": zktest.WithSessionTimeouts(0, time.Minute),
		"container interval 1ns":           zktest.WithContainerInterval(1),
		// What follows would come out as an instant long ago, or as a negative number.
		"session timeouts from 1s to 2562047h47m16.854775807s": zktest.WithSessionTimeouts(time.Second, math.MaxInt64),
		"session timeouts from 1440h0m0s":                      zktest.WithTick(30 * 24 * time.Hour),
	} {
		_, err := zktest.Start(opt)
		require.ErrorContains(t, err, name)
	}
}
