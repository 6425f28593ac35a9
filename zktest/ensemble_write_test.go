package zktest_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// A server that hears nothing from its leader kept all that a client sent. What
// cannot be carried out is not read, until it can be.
func TestEnsembleRequestsThatWait(t *testing.T) {
	flood := func(q *quorum, c *rawClient, healed func()) {
		const frames, size = 60, 1 << 19
		var sent atomic.Int32
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range frames {
				c.send(wire.OpSetData, setData("/", string(make([]byte, size)), -1))
				sent.Add(1)
			}
		}()
		time.Sleep(time.Second)
		require.Less(q, sent.Load(), int32(40))
		q.ens.Heal()
		healed()
		<-done
		c.must(wire.OpSync, onPath("/"))
	}

	t.Run("ForTheLeader", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			c := q.raw(q.srv[0], "A", long)
			q.ens.Isolate(q.srv[0])
			flood(q, c, func() {})
		})
	})

	t.Run("ForTheirSession", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.raw(q.srv[0], "A", long)
			c := q.dial(q.srv[0], "A")
			q.ens.Isolate(q.srv[0])
			c.write(wire.ConnectRequest{TimeoutMs: 10_000, Session: old.session, Password: old.password}.Append(nil))
			flood(q, c, func() {
				_, err := wire.ReadFrame(c.r, wire.MaxFrame)
				require.NoError(q, err)
			})
		})
	})
}

func TestEnsembleWrites(t *testing.T) {
	t.Run("ReachEveryServer", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			require.Same(q, q.srv[2], q.ens.Leader())
			for i, s := range q.srv {
				c := q.raw(s, "A", long)
				f := c.must(wire.OpCreate, create("/n", "", 2, open...))
				require.Equal(q, wire.OK, f.Err)
				require.Equal(q, int64(1), epochOf(f.Zxid), "server %d", i)
			}
			q.settle()
			for _, s := range q.srv {
				require.Equal(q, []string{"n0000000000", "n0000000001", "n0000000002", "zookeeper"}, s.Children("/"))
				require.Equal(q, q.srv[2].Zxid(), s.Zxid())
			}
		})
	})

	t.Run("OfAFollowersClientAreSeenByItAtOnceAndElsewhereLater", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a, b := q.raw(q.srv[0], "A", long), q.raw(q.srv[1], "B", long)
			q.ens.Lag(q.srv[1], time.Hour)
			a.must(wire.OpCreate, create("/n", "", 0, open...))
			require.True(q, q.exists(a, "/n"))
			q.settle()
			require.False(q, q.exists(b, "/n"), "an old view")
			q.ens.Lag(q.srv[1], 0)
			b.must(wire.OpSync, onPath("/"))
			require.True(q, q.exists(b, "/n"))
		})
	})

	t.Run("ASyncCuresALateView", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a, b := q.raw(q.srv[2], "A", long), q.raw(q.srv[1], "B", long)
			stale := 0
			for i := range 200 {
				name := create("/n", "", 2, open...)
				path := a.must(wire.OpCreate, name).path()
				if i%2 == 0 {
					b.must(wire.OpSync, onPath("/"))
					require.True(q, q.exists(b, path))
				} else if !q.exists(b, path) {
					stale++
				}
			}
			require.NotZero(q, stale, "without a Sync some views are old")
		})
	})

	t.Run("WaitForAMajority", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[2], "A", long)
			q.ens.Kill(q.srv[0])
			a.must(wire.OpCreate, create("/two", "", 0, open...))
			q.ens.Isolate(q.srv[1])
			require.Nil(q, q.ens.Leader())
			a.send(wire.OpCreate, create("/one", "", 0, open...))
			q.silent(a, 5*time.Second)
			q.ens.Heal()
			f, err := a.next()
			require.NoError(q, err)
			require.Equal(q, wire.OK, f.Err)
			require.Same(q, q.srv[2], q.ens.Leader())
		})
	})

	t.Run("HoldWhatIsSentBehindThemAndNobodyElse", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			s := q.srv[0]
			a, b := q.raw(s, "A", long), q.raw(s, "B", long)
			q.ens.Isolate(s)
			w1 := a.send(wire.OpCreate, create("/1", "", 0, open...))
			a.send(wire.OpPing, nil)
			r := a.send(wire.OpExists, watched("/2", false))
			w2 := a.send(wire.OpCreate, create("/2", "", 0, open...))
			b.must(wire.OpPing, nil)
			require.False(q, q.exists(b, "/1"))
			q.silent(a, 5*time.Second)
			q.ens.Heal()
			for _, xid := range []int32{w1, wire.XidPing, r, w2} {
				f, err := a.next()
				require.NoError(q, err)
				require.Equal(q, xid, f.Xid)
			}
		})
	})

	t.Run("AreJudgedByWhatIsOutstanding", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", long)
			a.send(wire.OpCreate, create("/n", "", 0, open...))
			a.send(wire.OpCreate, create("/n", "", 0, open...))
			a.send(wire.OpSetData, setData("/n", "x", 0))
			a.send(wire.OpSetData, setData("/n", "y", 0))
			for _, want := range []wire.Code{wire.OK, wire.NodeExists, wire.OK, wire.BadVersion} {
				f, err := a.next()
				require.NoError(q, err)
				require.Equal(q, want, f.Err)
			}
		})
	})

	t.Run("FireWatchesWhereTheyAreSet", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a, b := q.raw(q.srv[2], "A", long), q.raw(q.srv[0], "B", long)
			b.must(wire.OpExists, watched("/n", true))
			a.must(wire.OpCreate, create("/n", "", 0, open...))
			f, err := b.next()
			require.NoError(q, err)
			require.Equal(q, "event type=1 state=3 path=/n zxid=-1", eventString(f))
			require.True(q, q.exists(b, "/n"), "whoever has the event sees the change")
		})
	})

	t.Run("OfAnOperatorGoThroughTheLeader", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			s := q.srv[0]
			require.NoError(q, s.Create("/a/b/c", []byte("x")))
			data, _, err := s.Get("/a/b/c")
			require.NoError(q, err)
			require.Equal(q, "x", string(data))
			require.NoError(q, s.SetSequence("/a", 41))
			c := q.raw(q.srv[1], "A", long)
			require.Equal(q, "/a/n0000000041", c.must(wire.OpCreate, create("/a/n", "", 2, open...)).path())
			require.ErrorIs(q, s.Delete("/b"), zktest.ErrNoNode)
			require.NoError(q, s.Delete("/a"))
			require.False(q, s.Exists("/a"))
			require.ErrorIs(q, s.Expire(1), zktest.ErrNoSession)
			require.NoError(q, s.Expire(c.session))
			c.gone()
			q.ens.Isolate(s)
			require.ErrorIs(q, s.Create("/n", nil), zktest.ErrNotServing)
		})
	})
}
