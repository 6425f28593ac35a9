package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestEnsembleSessions(t *testing.T) {
	t.Run("LiveByPingsAndReadsAtAFollower", func(t *testing.T) {
		for _, op := range []wire.Op{wire.OpPing, wire.OpExists} {
			inQuorum(t, func(q *quorum) {
				a := q.raw(q.srv[0], "A", 4*time.Second)
				for range 100 {
					time.Sleep(2500 * time.Millisecond)
					if op == wire.OpPing {
						a.must(op, nil)
					} else {
						a.must(op, watched("/", false))
					}
				}
			})
		}
	})

	t.Run("AreNotTouchedByWhatAFollowerForwards", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			// What the follower sends arrives, the relay in its answers to pings as
			// well; only the leader's pings do not arrive, so none is answered.
			a := q.raw(q.srv[0], "A", 4*time.Second)
			q.ens.CutOneWay(q.srv[2], q.srv[0])
			cut := time.Now()
			for range 20 {
				a.send(wire.OpCreate, create("/n", "", 2, open...))
				time.Sleep(400 * time.Millisecond)
			}
			require.NotEmpty(q, q.srv[2].Children("/"))
			require.Greater(q, len(q.srv[2].Children("/")), 8, "writes arrive and are carried out")
			require.Empty(q, q.srv[2].Sessions(), "and yet it has expired")
			require.Less(q, time.Since(cut), 9*time.Second)
		})
	})

	t.Run("ExpireAtTheLeaderAndAreClosedEverywhere", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", 4*time.Second)
			a.must(wire.OpCreate, create("/own", "", 1, open...))
			b := q.raw(q.srv[1], "B", long)
			b.must(wire.OpSync, onPath("/"))
			b.must(wire.OpExists, watched("/own", true))
			start := time.Now()
			time.Sleep(3900 * time.Millisecond)
			require.True(q, q.srv[0].Exists("/own"))
			time.Sleep(6*time.Second - time.Since(start) + 100*time.Millisecond)
			a.gone()
			for _, s := range q.srv {
				require.False(q, s.Exists("/own"))
				require.Len(q, s.Sessions(), 1)
			}
			f, err := b.next()
			require.NoError(q, err)
			require.Equal(q, "event type=2 state=3 path=/own zxid=-1", eventString(f))
		})
	})

	t.Run("MoveAndLeaveAConnectionThatReads", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.raw(q.srv[0], "A", long)
			moved, err := q.back(q.srv[1], "A", old)
			require.NoError(q, err)
			require.Equal(q, old.session, moved.session)
			old.must(wire.OpPing, nil)
			old.must(wire.OpSync, onPath("/"))
			require.True(q, q.exists(old, "/"))
			moved.must(wire.OpCreate, create("/new", "", 0, open...))
			before := q.srv[2].Zxid()
			old.send(wire.OpCreate, create("/old", "", 0, open...))
			old.gone()
			q.settle()
			require.Equal(q, before+1, q.srv[2].Zxid(), "it takes a zxid")
			require.False(q, q.srv[2].Exists("/old"))
			moved.must(wire.OpPing, nil)
		})
	})

	t.Run("MoveToTheLeaderToo", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.raw(q.srv[0], "A", long)
			moved, err := q.back(q.srv[2], "A", old)
			require.NoError(q, err)
			old.send(wire.OpCreate, create("/old", "", 0, open...))
			old.gone()
			moved.must(wire.OpCreate, create("/new", "", 0, open...))
			// And back, which takes the right to write along.
			again, err := q.back(q.srv[0], "A", old)
			require.NoError(q, err)
			again.must(wire.OpCreate, create("/again", "", 0, open...))
			moved.send(wire.OpCreate, create("/moved", "", 0, open...))
			moved.gone()
		})
	})

	t.Run("LeaveAtTheLeaderAConnectionThatServesNothing", func(t *testing.T) {
		for _, op := range []wire.Op{wire.OpPing, wire.OpSync, wire.OpExists} {
			inQuorum(t, func(q *quorum) {
				old := q.raw(q.srv[2], "A", long)
				moved, err := q.back(q.srv[0], "A", old)
				require.NoError(q, err)
				old.send(op, watched("/", false))
				old.gone()
				moved.must(wire.OpCreate, create("/new", "", 0, open...))
			})
		}
	})

	t.Run("AreClosedFromWhereverTheirClientAsks", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.raw(q.srv[0], "A", long)
			moved, err := q.back(q.srv[1], "A", old)
			require.NoError(q, err)
			old.must(wire.OpCloseSession, nil)
			old.gone()
			moved.gone()
			require.Empty(q, q.srv[2].Sessions())
		})
	})

	t.Run("NegotiateTheirTimeoutWithTheLeaderAtEveryHandshake", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", long)
			b := q.dial(q.srv[1], "A")
			_, err := b.handshake(wire.ConnectRequest{TimeoutMs: 4000, Session: a.session, Password: a.password})
			require.NoError(q, err)
			require.Equal(q, 4*time.Second, b.timeout)
			require.Equal(q, 4*time.Second, q.srv[2].Sessions()[0].Timeout)
			require.NoError(q, a.nc.Close())
			require.NoError(q, b.nc.Close())
			time.Sleep(8 * time.Second)
			require.Empty(q, q.srv[2].Sessions())
		})
	})

	t.Run("HaveTheirFirstTimeoutAgainUnderANewLeader", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", 20*time.Second)
			b := q.dial(q.srv[1], "A")
			_, err := b.handshake(wire.ConnectRequest{TimeoutMs: 4000, Session: a.session, Password: a.password})
			require.NoError(q, err)
			time.Sleep(3 * time.Second)
			q.ens.Elect()
			elected := time.Now()
			time.Sleep(19 * time.Second)
			require.Len(q, q.leader().Sessions(), 1)
			time.Sleep(23*time.Second - time.Since(elected))
			require.Empty(q, q.leader().Sessions())
		})
	})

	t.Run("AreRefusedWithAWrongPasswordOrAfterTheirEnd", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", long)
			b := q.dial(q.srv[1], "A")
			_, err := b.handshake(wire.ConnectRequest{TimeoutMs: 4000, Session: a.session, Password: make([]byte, 16)})
			require.NoError(q, err)
			require.Zero(q, b.session)
			b.gone()
			require.NoError(q, q.srv[1].Expire(a.session))
			a.gone()
			c, err := q.back(q.srv[1], "A", a)
			require.NoError(q, err)
			require.Zero(q, c.session)
		})
	})

	t.Run("AreBelievedInByAServerThatHasNotHeardOfThem", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			q.ens.Lag(q.srv[1], 10*time.Second)
			a := q.raw(q.srv[0], "A", long)
			b, err := q.back(q.srv[1], "A", a)
			require.NoError(q, err)
			require.Equal(q, a.session, b.session)
			require.Empty(q, q.srv[1].Sessions())
			b.must(wire.OpPing, nil)
			time.Sleep(10 * time.Second)
			require.True(q, q.srv[1].Sessions()[0].Connected)
		})
	})

	t.Run("BeginBeforeWhatWasSentWithTheHandshake", func(t *testing.T) {
		for i := range 3 {
			inQuorum(t, func(q *quorum) {
				a := q.dial(q.srv[i], "A")
				a.write(wire.ConnectRequest{TimeoutMs: 40_000}.Append(nil))
				w, r := a.send(wire.OpCreate, create("/n", "", 0, open...)), a.send(wire.OpExists, watched("/n", false))
				_, err := wire.ReadFrame(a.r, wire.MaxFrame)
				require.NoError(q, err)
				for _, xid := range []int32{w, r} {
					f, err := a.next()
					require.NoError(q, err)
					require.Equal(q, xid, f.Xid)
					require.Equal(q, wire.OK, f.Err)
				}
			})
		}
	})

	t.Run("AreStolenFromAtAnyServer", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", long)
			q.srv[0].Steal(1)
			a.send(wire.OpCreate, create("/_c_x-", "", 3, open...))
			a.gone()
			_, stat, err := q.srv[0].Get("/_c_x-0000000000")
			require.NoError(q, err)
			require.NotEqual(q, a.session, stat.EphemeralOwner)
			time.Sleep(time.Hour)
			q.ens.Elect()
			time.Sleep(time.Hour)
			require.True(q, q.leader().Exists("/_c_x-0000000000"), "the thief does not expire")
		})
	})
}

func TestEnsembleReapsContainers(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		a := q.raw(q.srv[0], "A", long)
		defer keepAlive(q.raw(q.srv[1], "B", long))()
		a.must(wire.OpCreateContainer, create("/c", "", 4, open...))
		a.must(wire.OpCreate, create("/c/child", "", 0, open...))
		a.must(wire.OpDelete, versioned("/c/child", -1))
		require.True(q, q.srv[0].Exists("/c"))
		time.Sleep(61 * time.Second)
		for _, s := range q.srv {
			require.False(q, s.Exists("/c"))
		}
		require.NoError(q, q.srv[0].Create("/x", nil))
		require.Zero(q, q.srv[0].ReapContainers())
	}, zktest.WithTick(quorumTick))
}
