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

// phases are instants spread over two ticks: what depends on where between two
// ticks, or pings, a fault falls is looked at in each.
func phases(t *testing.T, run func(q *quorum)) {
	for i := range 16 {
		t.Run(fmt.Sprintf("phase %d", i), func(t *testing.T) {
			inQuorum(t, func(q *quorum) {
				time.Sleep(10*quorumTick + time.Duration(i)*quorumTick/8)
				run(q)
			})
		})
	}
}

// keepAlive pings every second until the connection ends or stop is called.
func keepAlive(c *rawClient) (stop func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Second):
			}
			if _, _, err := c.call(wire.OpPing, nil); err != nil {
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}

// lasts returns for how long a server answers something that a client asks for
// every 100 ms.
func lasts(c *rawClient, op wire.Op, body func(*wire.Encoder)) time.Duration {
	start := time.Now()
	for {
		if _, _, err := c.call(op, body); err != nil {
			return time.Since(start)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// Measured on a real ensemble: the leader gave the node away 5.7 s after the
// cut, the follower answered reads until 9.1 s.
func TestAnIsolatedFollowerServesOldViewsAfterItsSessionsHaveExpired(t *testing.T) {
	phases(t, func(q *quorum) {
		s := q.srv[0]
		a, watcher := q.raw(s, "A", 6*time.Second), q.raw(q.srv[1], "W", long)
		a.must(wire.OpCreate, create("/own", "", 1, open...))
		watcher.must(wire.OpSync, onPath("/"))
		require.True(q, q.exists(watcher, "/own"))
		defer keepAlive(watcher)()
		stop := keepAlive(a)
		time.Sleep(10 * time.Second)
		stop()
		cut := time.Now()
		q.ens.Isolate(s)
		require.Same(q, q.srv[2], q.ens.Leader())
		var away time.Duration
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for q.srv[2].Exists("/own") {
				time.Sleep(10 * time.Millisecond)
			}
			away = time.Since(cut)
		}()
		answered := lasts(a, wire.OpExists, watched("/own", false))
		<-gone
		require.GreaterOrEqual(q, away, 5*time.Second)
		require.LessOrEqual(q, away, 8*time.Second+10*time.Millisecond)
		require.GreaterOrEqual(q, answered, 9*time.Second)
		require.LessOrEqual(q, answered, 10*time.Second+100*time.Millisecond)
		require.True(q, s.Exists("/own"), "it does not know")

		n := q.dial(s, "A")
		n.send(wire.OpPing, nil)
		n.gone() // nobody is let in
		q.ens.Heal()
		time.Sleep(time.Second)
		require.False(q, s.Exists("/own"), "it has caught up")
		n = q.dial(s, "A")
		_, err := n.again(a, 0)
		require.NoError(q, err)
		require.Zero(q, n.session, "expired")
	})
}

func TestAnIsolatedFollowersClientKeepsItsSessionElsewhere(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		a := q.raw(q.srv[0], "A", 6*time.Second)
		a.must(wire.OpCreate, create("/own", "", 1, open...))
		q.ens.Isolate(q.srv[0])
		time.Sleep(4 * time.Second)
		b, err := q.back(q.srv[1], "A", a)
		require.NoError(q, err)
		require.Equal(q, a.session, b.session)
		defer keepAlive(b)()
		time.Sleep(time.Minute)
		require.True(q, q.srv[2].Exists("/own"))
	})
}

// Measured on a real ensemble, its followers reset and its input dropped: the
// successor wrote after 1.4 s and gave the node away after 7.7 s; the old leader
// answered Syncs all along, and even a reconnect.
func TestADeposedLeaderGoesOnAnsweringWhatNeedsNoMajority(t *testing.T) {
	phases(t, func(q *quorum) {
		old := q.srv[2]
		a, b := q.raw(old, "A", 6*time.Second), q.raw(old, "B", long)
		a.must(wire.OpCreate, create("/own", "", 1, open...))
		stopA := keepAlive(a)
		time.Sleep(10 * time.Second)
		stopA()
		start := time.Now()
		require.Same(q, old, q.ens.Depose())
		require.Nil(q, q.ens.Leader(), "there is none until a successor is elected")

		check := b.send(wire.OpMulti, multi(sub{wire.OpCheck, versioned("/own", -1)}))
		successor := q.leader()
		require.NotSame(q, old, successor)
		require.Less(q, time.Since(start), 400*time.Millisecond)
		require.Equal(q, int64(2), epochOf(successor.Zxid()))
		w := q.raw(successor, "W", long)
		require.Equal(q, wire.OK, w.must(wire.OpCreate, create("/new", "", 0, open...)).Err)
		defer keepAlive(w)()

		var away time.Duration
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			for successor.Exists("/own") {
				time.Sleep(10 * time.Millisecond)
			}
			away = time.Since(start)
		}()
		// Until 9 s and a few have passed, at least, nothing shows on the old one.
		for time.Since(start) < 9*time.Second-100*time.Millisecond {
			a, _ = q.back(old, "A", a)
			require.NotZero(q, a.session, "even handshakes")
			require.Equal(q, wire.OK, a.must(wire.OpSync, onPath("/")).Err)
			require.True(q, q.exists(a, "/own"))
			require.False(q, q.exists(a, "/new"))
			time.Sleep(500 * time.Millisecond)
		}
		answered := time.Since(start) + lasts(a, wire.OpSync, onPath("/"))
		<-gone
		require.GreaterOrEqual(q, away, 6*time.Second, "a new leader gives the whole timeout again")
		require.LessOrEqual(q, away, 8*time.Second+400*time.Millisecond)
		require.LessOrEqual(q, answered, (quorumSyncLimit+1)*quorumTick+100*time.Millisecond)
		// The write was never answered, nor has it happened.
		_, err := b.next()
		require.Error(q, err, "reply to %d", check)
		require.Same(q, successor, q.ens.Leader())
		q.ens.Heal()
		time.Sleep(time.Second)
		require.True(q, old.Exists("/new"))
		require.False(q, old.Exists("/own"))
	})
}

func TestDeposedTwice(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		require.NotNil(q, q.ens.Depose())
		l := q.leader()
		require.Same(q, l, q.ens.Depose())
		require.Nil(q, q.ens.Depose(), "there is no leader")
		time.Sleep(30 * time.Second)
		require.Nil(q, q.ens.Leader(), "two of three hear nobody")
		q.ens.Heal()
		require.Equal(q, int64(3), epochOf(q.leader().Zxid()))
	})
}

func TestAnIsolatedLeaderIsSucceeded(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		old := q.srv[2]
		a := q.raw(old, "A", long)
		a.must(wire.OpCreate, create("/a", "", 0, open...))
		q.settle()
		q.ens.Isolate(old)
		require.Nil(q, q.ens.Leader())
		a.send(wire.OpCreate, create("/lost", "", 0, open...))
		start := time.Now()
		successor := q.leader()
		require.NotSame(q, old, successor)
		// The followers wait for word of it until the sync limit.
		require.InDelta(q, 10, time.Since(start).Seconds(), 1.3)
		a.gone()
		w := q.raw(successor, "W", long)
		w.must(wire.OpCreate, create("/new", "", 0, open...))
		q.ens.Heal()
		time.Sleep(2 * quorumTick)
		for _, s := range q.srv {
			require.Equal(q, []string{"a", "new", "zookeeper"}, s.Children("/"))
		}
	})
}

func TestLag(t *testing.T) {
	t.Run("AClientWithANewerViewIsRefused", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			late := q.srv[0]
			q.ens.Lag(late, 20*time.Second)
			a := q.raw(q.srv[1], "A", long)
			zxid := a.must(wire.OpCreate, create("/n", "", 0, open...)).Zxid
			n := q.dial(late, "A")
			_, err := n.again(a, zxid)
			require.Error(q, err)
			// One that remembers nothing comes in, and sees the past.
			b, err := q.back(late, "A", a)
			require.NoError(q, err)
			require.Equal(q, a.session, b.session)
			require.False(q, q.exists(b, "/n"))
			time.Sleep(20 * time.Second)
			require.True(q, q.exists(b, "/n"))
		})
	})

	t.Run("ASyncWaitsItOut", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			late := q.srv[0]
			b := q.raw(late, "B", long)
			q.ens.Lag(late, 5*time.Second)
			q.raw(q.srv[1], "A", long).must(wire.OpCreate, create("/n", "", 0, open...))
			start := time.Now()
			b.must(wire.OpSync, onPath("/"))
			require.InDelta(q, 5, time.Since(start).Seconds(), 0.1)
			require.True(q, q.exists(b, "/n"))
		})
	})

	t.Run("OfALeaderDelaysItsOwnClientsAlone", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a, b := q.raw(q.srv[2], "A", long), q.raw(q.srv[0], "B", long)
			q.ens.Lag(q.srv[2], 5*time.Second)
			start := time.Now()
			b.must(wire.OpCreate, create("/n", "", 0, open...))
			require.Less(q, time.Since(start), 10*time.Millisecond)
			require.Equal(q, wire.NodeExists, b.must(wire.OpCreate, create("/n", "", 0, open...)).Err, "the leader judges by what it has proposed")
			require.False(q, q.exists(a, "/n"))
			a.must(wire.OpCreate, create("/m", "", 0, open...))
			require.InDelta(q, 5, time.Since(start).Seconds(), 0.1)
		})
	})

	t.Run("EndsWhenANewLeaderIsFollowed", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			late := q.srv[0]
			q.ens.Lag(late, time.Hour)
			q.raw(q.srv[1], "A", long).must(wire.OpCreate, create("/n", "", 0, open...))
			q.settle()
			require.False(q, late.Exists("/n"))
			q.ens.Elect()
			time.Sleep(time.Second)
			require.True(q, late.Exists("/n"), "it serves nobody before it has applied what is committed")
			q.ens.Lag(late, 0)
			time.Sleep(time.Second) // it panics if it applies anything twice
		})
	})
}

func TestACutHoldsWhatIsOnItsWay(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		a := q.raw(q.srv[2], "A", long)
		a.send(wire.OpCreate, create("/n", "", 0, open...))
		time.Sleep(250 * time.Millisecond) // the commit has set out
		q.ens.Isolate(q.srv[0])
		time.Sleep(time.Second)
		require.True(q, q.srv[1].Exists("/n"))
		require.False(q, q.srv[0].Exists("/n"))
		q.ens.Heal()
		time.Sleep(time.Second)
		require.True(q, q.srv[0].Exists("/n"))
	}, zktest.WithPeerDelay(100*time.Millisecond, 100*time.Millisecond))
}

func TestAStalledServerIsGivenUp(t *testing.T) {
	t.Run("Follower", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			s := q.srv[0]
			a := q.raw(s, "A", long)
			s.Stall(true)
			require.NoError(q, q.srv[1].Create("/n", nil))
			time.Sleep(30 * time.Second)
			require.False(q, s.Exists("/n"))
			require.ErrorIs(q, s.Create("/m", nil), zktest.ErrNotServing)
			s.Stall(false)
			time.Sleep(2 * time.Second)
			require.True(q, s.Exists("/n"))
			a.gone()
			require.Same(q, q.srv[2], q.ens.Leader())
		})
	})

	t.Run("Leader", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.srv[2]
			a := q.raw(old, "A", long)
			old.Stall(true)
			require.Nil(q, q.ens.Leader())
			successor := q.leader()
			require.NotSame(q, old, successor)
			a.send(wire.OpCreate, create("/lost", "", 0, open...))
			require.NoError(q, successor.Create("/n", nil))
			old.Stall(false)
			time.Sleep(5 * time.Second)
			a.gone()
			require.True(q, old.Exists("/n"))
			require.False(q, old.Exists("/lost"))
			require.Same(q, successor, q.ens.Leader())
		})
	})
}

func TestKillAndRestart(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		old := q.srv[2]
		a, b := q.raw(old, "A", 6*time.Second), q.raw(q.srv[0], "B", 6*time.Second)
		a.must(wire.OpCreate, create("/own", "", 1, open...))
		q.settle()
		start := time.Now()
		q.ens.Kill(old)
		q.ens.Kill(old)
		a.gone()
		b.gone() // its server has lost its leader
		require.Less(q, time.Since(start), 20*time.Millisecond)
		n := q.dial(old, "A")
		n.gone()
		l := q.leader()
		require.Less(q, time.Since(start), 600*time.Millisecond)
		require.Equal(q, int64(2), epochOf(l.Zxid()))
		a, err := q.back(q.srv[0], "A", a)
		require.NoError(q, err)
		require.NotZero(q, a.session)
		require.True(q, q.exists(a, "/own"))
		require.NoError(q, l.Create("/n", nil))
		q.ens.Restart(old)
		q.ens.Restart(old)
		time.Sleep(time.Second)
		require.True(q, old.Exists("/n"))
		require.Same(q, l, q.ens.Leader())
		synctest.Wait()
	})
}
