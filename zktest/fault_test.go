package zktest_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// long is a session timeout that no test outlives by accident.
const long = 40 * time.Second

// silent checks that nothing comes on a connection, nor its end, for d.
func (w *scene) silent(c *rawClient, d time.Duration) {
	w.Helper()
	require.NoError(w, c.nc.SetReadDeadline(time.Now().Add(d)))
	_, err := c.r.Peek(1)
	require.ErrorContains(w, err, "timeout")
}

// back connects from a host with the session that c has.
func (w *scene) back(host string, c *rawClient) (*rawClient, wire.ConnectResponse, error) {
	n := w.dial(host)
	resp, err := n.again(c, 0)
	return n, resp, err
}

func TestFaults(t *testing.T) {
	opts := []zktest.Option{zktest.WithTick(2 * time.Second)}
	fault := func(name string, run func(w *scene, a, b *rawClient)) {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(w *scene) { run(w, w.raw("A", long), w.raw("B", long)) }, opts...)
		})
	}

	fault("CutClosesEveryConnectionAndLeavesSessions", func(w *scene, a, b *rawClient) {
		w.srv.Cut()
		a.gone()
		b.gone()
		_, resp, err := w.back("A", a)
		require.NoError(w, err)
		require.Equal(w, a.session, resp.Session)
	})

	fault("CutForOneSessionLeavesTheOther", func(w *scene, a, b *rawClient) {
		w.srv.For(a.session).Cut()
		a.gone()
		b.must(wire.OpPing, nil)
		w.srv.From("B").Cut()
		b.gone()
	})

	fault("DropReplyAppliesTheRequestAndCuts", func(w *scene, a, b *rawClient) {
		w.srv.DropReply(zktest.OpCreate, 1)
		a.must(wire.OpExists, watched("/a", false))
		a.send(wire.OpCreate, create("/a", "", 0, open...))
		a.gone()
		require.True(w, w.srv.Exists("/a"))
		require.Equal(w, "/b", b.must(wire.OpCreate, create("/b", "", 0, open...)).path(), "once is once")
	})

	fault("DropReplyDeliversTheEventsBeforeIt", func(w *scene, a, _ *rawClient) {
		w.srv.DropReply(zktest.OpCreate, -1)
		a.must(wire.OpExists, watched("/a", true))
		a.send(wire.OpCreate, create("/a", "", 0, open...))
		f, err := a.next()
		require.NoError(w, err)
		require.Equal(w, wire.XidEvent, f.Xid)
		a.gone()
	})

	fault("DropRequestCutsBeforeItIsApplied", func(w *scene, a, b *rawClient) {
		w.srv.For(b.session).DropRequest(zktest.OpCreate, 2)
		a.must(wire.OpCreate, create("/a", "", 0, open...))
		for range 2 {
			b.send(wire.OpCreate, create("/b", "", 0, open...))
			b.gone()
			require.False(w, w.srv.Exists("/b"))
			b, _, _ = w.back("B", b)
		}
		b.must(wire.OpCreate, create("/b", "", 0, open...))
	})

	fault("AnyCreateMeetsEveryCreate", func(w *scene, a, b *rawClient) {
		for i, op := range []wire.Op{wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL} {
			w.srv.DropReply(zktest.AnyCreate, 1)
			path, body := fmt.Sprintf("/n%d", i), create(fmt.Sprintf("/n%d", i), "", 0, open...)
			switch op {
			case wire.OpCreateContainer:
				body = create(path, "", 4, open...)
			case wire.OpCreateTTL:
				body = createTTL(path, "", 5, 1000, open...)
			}
			a.must(wire.OpExists, watched(path, false))
			a.send(op, body)
			a.gone()
			require.True(w, w.srv.Exists(path), op)
			a, _, _ = w.back("A", a)
		}
		require.Equal(w, 4, w.srv.Count(zktest.AnyCreate))
		w.srv.DropReply(zktest.AnyCreate, 1)
		b.must(wire.OpMulti, multi(sub{wire.OpCreate, create("/m", "", 0, open...)}))
		require.Equal(w, 1, w.srv.Pending(), "a multi is no create")
	})

	fault("FailReplyRefusesInTurnAndChangesNothing", func(w *scene, a, b *rawClient) {
		before := w.srv.Zxid()
		w.srv.For(a.session).FailReply(zktest.AnyOp, zktest.CodeNoAuth, 3)
		own := a.send(wire.OpCreate, create("/a", "", 0, open...))
		all := a.send(wire.OpMulti, multi(sub{wire.OpCreate, create("/m", "", 0, open...)}))
		read := a.send(wire.OpGetData, watched("/", true))
		last := a.send(wire.OpGetData, watched("/", false))
		for _, xid := range []int32{own, all, read} {
			f, err := a.next()
			require.NoError(w, err)
			require.Equal(w, wire.ReplyHeader{Xid: xid, Zxid: before, Err: wire.NoAuth}, f.ReplyHeader)
			require.Empty(w, f.body)
		}
		f, err := a.next()
		require.NoError(w, err)
		require.Equal(w, last, f.Xid)
		require.Equal(w, zktest.CodeOK, f.Err, "three times are three times")
		require.Equal(w, before, w.srv.Zxid())
		require.Zero(w, w.srv.Watches())
		met := w.srv.For(a.session).Requests()[1]
		require.Equal(w, []any{"FailReply", zktest.CodeNoAuth, zktest.OpCreate, "/a"}, []any{met.Fault, met.Err, met.Op, met.Path})
		b.must(wire.OpCreate, create("/b", "", 0, open...))
		require.Panics(w, func() { w.srv.FailReply(zktest.AnyOp, zktest.CodeOK, 1) })
	})

	fault("PendingCountsWhatHasNotHappened", func(w *scene, a, b *rawClient) {
		require.Zero(w, w.srv.Pending())
		w.srv.DropReply(zktest.OpCreate2, 2)
		w.srv.For(a.session).DropRequest(zktest.OpDelete, -1)
		w.srv.From("B").Steal(1)
		stop := w.srv.AtReply(zktest.OpSync, func(zktest.Request) {})
		w.srv.OnRequest(func(zktest.Request) {})
		require.Equal(w, []int{5, 1, 1, 0, 0}, []int{w.srv.Pending(), w.srv.For(a.session).Pending(),
			w.srv.From("B").Pending(), w.srv.From("A").Pending(), w.srv.For(b.session).Pending()})
		a.send(wire.OpDelete, versioned("/x", -1))
		a.gone()
		require.Equal(w, 4, w.srv.Pending(), "what always happens has, if it has once")
		b.send(wire.OpCreate2, create("/b", "", 0, open...))
		b.gone()
		require.Equal(w, 3, w.srv.Pending())
		stop()
		require.Equal(w, 2, w.srv.Pending())
		w.srv.HealAll()
		require.Zero(w, w.srv.Pending())
	})

	fault("SeenKnowsEverySessionThatThereWas", func(w *scene, a, _ *rawClient) {
		require.NoError(w, w.srv.Expire(a.session))
		require.True(w, w.srv.Seen(a.session))
		require.False(w, w.srv.Seen(a.session+1))
	})

	fault("RefuseClosesNewConnectionsAndLeavesExistingOnes", func(w *scene, a, _ *rawClient) {
		w.srv.Refuse(true)
		a.must(wire.OpPing, nil)
		_, _, err := w.back("A", a)
		require.Error(w, err)
		w.srv.Refuse(false)
		_, _, err = w.back("A", a)
		require.NoError(w, err)
	})

	fault("HealAllTakesBackWhatWasMadeOnAnyTarget", func(w *scene, a, b *rawClient) {
		w.srv.Refuse(true)
		w.srv.From("A").Freeze(zktest.ToClient)
		w.srv.For(b.session).DropReply(zktest.OpCreate, -1)
		a.send(wire.OpPing, nil)
		w.silent(a, time.Second)
		w.srv.HealAll()
		require.NoError(w, a.nc.SetReadDeadline(time.Now().Add(time.Second)))
		_, err := a.next()
		require.NoError(w, err, "what was held flows")
		b.must(wire.OpCreate, create("/b", "", 0, open...))
		w.raw("C", long)
	})

	fault("RefuseForOneSessionActsOnItsHandshake", func(w *scene, a, b *rawClient) {
		w.srv.For(a.session).Refuse(true)
		_, _, err := w.back("A", a)
		require.Error(w, err)
		_, _, err = w.back("B", b)
		require.NoError(w, err)
		a.must(wire.OpPing, nil) // it was not moved
	})

	fault("BlackholeSwallowsForGood", func(w *scene, a, b *rawClient) {
		w.srv.For(a.session).Blackhole(true)
		a.send(wire.OpCreate, create("/a", "", 0, open...))
		w.silent(a, 30*time.Second)
		require.False(w, w.srv.Exists("/a"))
		n := w.dial("A")
		n.write(wire.ConnectRequest{Session: a.session, Password: a.password}.Append(nil))
		w.silent(n, 5*time.Second)
		b.must(wire.OpPing, nil)
		w.srv.For(a.session).Heal()
		a.send(wire.OpPing, nil)
		w.silent(a, 5*time.Second)
		require.Len(w, w.srv.Sessions(), 2)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		require.Len(w, w.srv.Sessions(), 1, "no ping of the session arrived")
	})

	fault("FreezeHoldsBothWaysAndUnfreezeDelivers", func(w *scene, a, b *rawClient) {
		a.must(wire.OpExists, watched("/n", true))
		f := w.srv.For(a.session)
		f.Freeze(zktest.BothWays)
		xid := a.send(wire.OpCreate, create("/a", "", 0, open...))
		b.must(wire.OpCreate, create("/n", "", 0, open...))
		w.silent(a, 10*time.Second)
		require.False(w, w.srv.Exists("/a"))
		f.Unfreeze()
		event, err := a.next()
		require.NoError(w, err)
		require.Equal(w, wire.XidEvent, event.Xid)
		reply, err := a.next()
		require.NoError(w, err)
		require.Equal(w, xid, reply.Xid)
		require.True(w, w.srv.Exists("/a"))
	})

	fault("FreezeToServerLetsEventsThrough", func(w *scene, a, b *rawClient) {
		a.must(wire.OpExists, watched("/n", true))
		w.srv.For(a.session).Freeze(zktest.ToServer)
		b.must(wire.OpCreate, create("/n", "", 0, open...))
		_, err := a.next()
		require.NoError(w, err)
		a.send(wire.OpPing, nil)
		w.silent(a, 10*time.Second)
	})

	fault("FreezeToClientLetsRequestsThrough", func(w *scene, a, _ *rawClient) {
		w.srv.For(a.session).Freeze(zktest.ToClient)
		a.send(wire.OpCreate, create("/a", "", 0, open...))
		w.silent(a, 10*time.Second)
		require.True(w, w.srv.Exists("/a"))
	})

	fault("FreezeHoldsNewConnectionsAndTheEndOfOldOnes", func(w *scene, a, _ *rawClient) {
		w.srv.Freeze(zktest.BothWays)
		a.send(wire.OpCreate, create("/a", "", 0, open...))
		require.NoError(w, a.nc.Close())
		n := w.dial("A")
		n.write(wire.ConnectRequest{TimeoutMs: 40_000, Session: a.session, Password: a.password}.Append(nil))
		w.silent(n, 5*time.Second)
		require.True(w, w.srv.Sessions()[0].Connected && w.srv.Sessions()[1].Connected)
		w.srv.Unfreeze()
		_, err := wire.ReadFrame(n.r, 100)
		require.Error(w, err, "the peek above has used up the deadline")
		time.Sleep(time.Second)
		require.True(w, w.srv.Exists("/a"), "what was sent before the close arrives")
	})

	fault("FreezeHoldsTheEndOfAnIdleConnection", func(w *scene, a, _ *rawClient) {
		w.srv.For(a.session).Freeze(zktest.ToServer)
		require.NoError(w, a.nc.Close())
		time.Sleep(time.Second)
		connected := func() (n int) {
			for _, s := range w.srv.Sessions() {
				if s.Connected {
					n++
				}
			}
			return n
		}
		require.Equal(w, 2, connected())
		w.srv.For(a.session).Unfreeze()
		time.Sleep(time.Second)
		require.Equal(w, 1, connected())
	})

	fault("HalfHandshakeMovesTheSessionAndDoesNotSay", func(w *scene, a, _ *rawClient) {
		w.srv.HalfHandshake(true)
		n := w.dial("A")
		n.write(wire.ConnectRequest{TimeoutMs: 40_000, Session: a.session, Password: a.password}.Append(nil))
		a.gone()
		half, err := n.r.Peek(4 + 36/2 - 2)
		require.NoError(w, err)
		require.Equal(w, []byte{0, 0, 0, 36}, half[:4])
		n.send(wire.OpPing, nil) // is not answered either
		require.NoError(w, n.nc.SetReadDeadline(time.Now().Add(20*time.Second)))
		_, err = wire.ReadFrame(n.r, 100)
		require.ErrorContains(w, err, "timeout")
	})

	fault("StealLeavesAForeignNodeOfTheSameName", func(w *scene, a, b *rawClient) {
		w.srv.Steal(1)
		b.must(wire.OpCreate, create("/_lock", "", 0, open...)) // not in that manner
		a.must(wire.OpCreate, create("/d", "", 0, open...))
		const name = "_c_0123456789abcdef0123456789abcdef-lock-"
		a.send(wire.OpCreate, create("/d/"+name, "mine", 3, rawACL{31, "auth", ""}))
		a.gone()
		require.Equal(w, []string{name + "0000000000"}, w.srv.Children("/d"))
		data, stat, err := w.srv.Get("/d/" + name + "0000000000")
		require.NoError(w, err)
		require.Equal(w, "mine", string(data))
		require.NotContains(w, []int64{0, a.session, b.session}, stat.EphemeralOwner)
		time.Sleep(time.Hour)
		require.Len(w, w.srv.Sessions(), 1)
		require.Equal(w, stat.EphemeralOwner, w.srv.Sessions()[0].ID, "it does not expire")
	})

	fault("NewSessionSaysNothingOfTheOldOne", func(w *scene, a, _ *rawClient) {
		w.srv.For(a.session).NewSession(1)
		n, resp, err := w.back("A", a)
		require.NoError(w, err)
		require.NotZero(w, resp.Session)
		require.NotEqual(w, a.session, resp.Session)
		require.Len(w, w.srv.Sessions(), 3)
		n.must(wire.OpPing, nil)
		_, resp, err = w.back("A", a)
		require.NoError(w, err)
		require.Equal(w, a.session, resp.Session)
	})

	fault("ZxidAheadRefusesOnlyClientsWithAPast", func(w *scene, a, _ *rawClient) {
		w.srv.ZxidAhead(true)
		n := w.dial("A")
		_, err := n.again(a, 1)
		require.Error(w, err)
		_, _, err = w.back("A", a) // has seen no zxid
		require.NoError(w, err)
	})

	fault("ExpireEndsOneSession", func(w *scene, a, b *rawClient) {
		a.must(wire.OpCreate, create("/e", "", 1, open...))
		require.NoError(w, w.srv.Expire(a.session))
		a.gone()
		require.False(w, w.srv.Exists("/e"))
		b.must(wire.OpPing, nil)
		_, resp, err := w.back("A", a)
		require.NoError(w, err)
		require.Zero(w, resp.Session)
		require.ErrorIs(w, w.srv.Expire(a.session), zktest.ErrNoSession)
		w.srv.ExpireAll()
		b.gone()
		require.Empty(w, w.srv.Sessions())
	})

	fault("WipeForgetsEverythingAndStartsAgain", func(w *scene, a, _ *rawClient) {
		last := a.must(wire.OpCreate, create("/a", "", 0, open...)).Zxid
		w.srv.Wipe()
		a.gone()
		require.Zero(w, w.srv.Zxid())
		n := w.dial("A")
		_, err := n.again(a, last)
		require.Error(w, err, "not even told that it has expired")
		require.False(w, w.srv.Exists("/a"))
	})

	fault("HealTakesBackWhatThisTargetHas", func(w *scene, a, b *rawClient) {
		w.srv.DropRequest(zktest.OpCreate, -1)
		w.srv.Refuse(true)
		w.srv.For(b.session).DropRequest(zktest.OpDelete, -1)
		w.srv.Heal()
		a.must(wire.OpCreate, create("/a", "", 0, open...))
		_, _, err := w.back("A", a)
		require.NoError(w, err)
		b.send(wire.OpDelete, versioned("/a", -1))
		b.gone()
	})

	fault("CloseEndsFrozenAndStalledConnectionsToo", func(w *scene, a, b *rawClient) {
		w.srv.For(a.session).Freeze(zktest.BothWays)
		w.srv.Stall(true)
		a.send(wire.OpPing, nil)
		b.send(wire.OpPing, nil)
		synctest.Wait()
		w.srv.Close()
		a.gone()
		b.gone()
		w.srv.Close()
	})
}
