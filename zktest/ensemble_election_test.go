package zktest_test

import (
	"context"
	"math"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestElections(t *testing.T) {
	t.Run("DisconnectEveryoneAndCountEpochs", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			session := q.raw(q.srv[0], "A", long)
			session.must(wire.OpCreate, create("/own", "", 1, open...))
			for epoch := int64(2); epoch < 6; epoch++ {
				var conns []*rawClient
				for _, s := range q.srv {
					c := q.raw(s, "B", long)
					conns = append(conns, c)
				}
				q.ens.Elect()
				require.Nil(q, q.ens.Leader())
				for _, c := range conns {
					c.gone()
				}
				n := q.dial(q.srv[0], "A")
				n.send(wire.OpPing, nil)
				n.gone()
				l := q.leader()
				require.Same(q, q.srv[2], l, "the logs are equal, so the highest number wins")
				require.Equal(q, epoch<<32, l.Zxid(), "the counter starts again")
				q.settle()
				a, err := q.back(q.srv[0], "A", session)
				require.NoError(q, err)
				require.NotZero(q, a.session)
				require.True(q, q.exists(a, "/own"))
				require.Equal(q, epoch<<32|1, a.must(wire.OpCreate, create("/n", "", 2, open...)).Zxid)
				session = a
			}
		})
	})

	t.Run("CommitWhatTheWinnerHasInItsLog", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[2], "A", long)
			q.ens.CutOneWay(q.srv[2], q.srv[1])
			a.send(wire.OpCreate, create("/n", "", 0, open...))
			time.Sleep(150 * time.Millisecond) // at the first server, not acknowledged yet
			q.ens.Kill(q.srv[2])
			require.False(q, q.srv[0].Exists("/n"))
			require.Same(q, q.srv[0], q.leader(), "the longer log wins, not the higher number")
			require.True(q, q.srv[0].Exists("/n"))
			time.Sleep(time.Second)
			require.True(q, q.srv[1].Exists("/n"))
			a.gone()
		}, zktest.WithPeerDelay(100*time.Millisecond, 100*time.Millisecond))
	})

	t.Run("ForgetWhatOnlyADeposedLeaderHas", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			old := q.srv[2]
			a := q.raw(old, "A", long)
			q.ens.Isolate(old)
			for range 5 {
				a.send(wire.OpCreate, create("/lost", "", 2, open...))
			}
			w := q.raw(q.leader(), "W", long)
			w.must(wire.OpCreate, create("/kept", "", 0, open...))
			q.ens.Heal()
			time.Sleep(2 * quorumTick) // the old leader looks for its majority every tick
			for range 3 {
				// Were it still in its log, the old leader would bring it back now.
				q.ens.Elect()
				require.Same(q, old, q.leader())
				q.settle()
				for _, s := range q.srv {
					require.Equal(q, []string{"kept", "zookeeper"}, s.Children("/"))
				}
			}
		})
	})

	t.Run("BringWhoWasAwayUpToDate", func(t *testing.T) {
		for name, writes := range map[string]int{"by what it missed": 50, "by a snapshot": 2500} {
			t.Run(name, func(t *testing.T) {
				inQuorum(t, func(q *quorum) {
					a := q.raw(q.srv[1], "A", long)
					a.must(wire.OpCreate, create("/own", "", 1, open...))
					q.settle()
					q.ens.Kill(q.srv[0])
					for range writes {
						a.must(wire.OpCreate, create("/n", "x", 2, open...))
					}
					q.ens.Restart(q.srv[0])
					time.Sleep(time.Second)
					require.Equal(q, q.srv[2].Children("/"), q.srv[0].Children("/"))
					require.Equal(q, q.srv[2].Zxid(), q.srv[0].Zxid())
					require.Equal(q, a.session, q.srv[0].Sessions()[0].ID)
					require.Equal(q, []string{"/own"}, q.srv[0].Sessions()[0].Ephemerals)
					// It stands on its own feet: the two others agree without the third.
					q.ens.Kill(q.srv[2])
					l := q.leader()
					require.NoError(q, l.Create("/more", nil))
					q.settle()
					require.True(q, q.srv[0].Exists("/more"))
				})
			})
		}
	})

	t.Run("BringSomebodyUpToDateWhileOthersWrite", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[1], "A", long)
			const writes = 500
			for i := range writes {
				if i%25 == 0 {
					q.ens.Kill(q.srv[0])
					q.ens.Restart(q.srv[0])
				}
				a.send(wire.OpCreate, create("/n", "x", 2, open...))
				time.Sleep(45 * time.Millisecond)
			}
			for range writes {
				_, err := a.next()
				require.NoError(q, err)
			}
			time.Sleep(time.Second)
			require.Len(q, q.srv[0].Children("/"), writes+1)
		}, zktest.WithPeerDelay(0, 100*time.Millisecond))
	})

	t.Run("AreNotUndoneByALeaderOfThePast", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			q.ens.Depose()
			second := q.leader()
			w := q.raw(second, "W", long)
			require.Equal(q, wire.OK, w.must(wire.OpCreate, create("/kept", "", 0, open...)).Err)
			q.settle()
			// The one follower left hears two servers: one that still leads epoch 1.
			q.ens.Kill(second)
			q.ens.Heal()
			require.Equal(q, int64(3), epochOf(q.leader().Zxid()))
			q.settle()
			require.True(q, q.ens.Leader().Exists("/kept"))
		})
	})

	t.Run("NeedAMajority", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			q.ens.Kill(q.srv[1])
			q.ens.Kill(q.srv[2])
			ctx, cancel := context.WithTimeout(q.Context(), time.Hour)
			defer cancel()
			_, err := q.ens.AwaitLeader(ctx)
			require.ErrorIs(q, err, context.DeadlineExceeded)
			n := q.dial(q.srv[0], "A")
			n.send(wire.OpPing, nil)
			n.gone()
			q.ens.Restart(q.srv[1])
			require.Same(q, q.srv[1], q.leader())
		})
	})

	t.Run("AreTakenBackByWipe", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			a := q.raw(q.srv[0], "A", long)
			zxid := a.must(wire.OpCreate, create("/n", "", 0, open...)).Zxid
			q.ens.Elect()
			q.leader()
			q.srv[1].Wipe()
			require.Equal(q, int64(1)<<32, q.leader().Zxid())
			time.Sleep(time.Second)
			for _, s := range q.srv {
				require.False(q, s.Exists("/n"))
				require.Empty(q, s.Sessions())
				n := q.dial(s, "A")
				_, err := n.again(a, zxid+100)
				require.Error(q, err)
			}
		})
	})
}

func TestWordsOfAnEnsemble(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		ask := func(s *zktest.Server, word string) string {
			c := q.dial(s, "M")
			_, err := c.nc.Write([]byte(word))
			require.NoError(q, err)
			return readAll(q, c.r)
		}
		require.Contains(q, ask(q.srv[0], "srvr"), "\nMode: follower\n")
		require.Contains(q, ask(q.srv[2], "stat"), "\nMode: leader\n")
		require.Equal(q, "rw", ask(q.srv[0], "isro"))
		q.ens.Isolate(q.srv[0])
		time.Sleep(11 * time.Second)
		for _, word := range []string{"srvr", "stat", "mntr", "cons", "dump", "wchs", "conf"} {
			require.Equal(q, "This ZooKeeper instance is not currently serving requests\n", ask(q.srv[0], word))
		}
		require.Equal(q, "imok", ask(q.srv[0], "ruok"))
		require.Equal(q, "null", ask(q.srv[0], "isro"))
	})
}

func TestEnsembleOverTCP(t *testing.T) {
	for _, n := range []int{1, 2, 5} {
		ens := zktest.NewEnsemble(t, n)
		require.Len(t, ens.Addrs(), n)
		var last *rawClient
		for i, s := range ens.Servers() {
			require.Equal(t, ens.Addrs()[i], s.Addr())
			last = connectRaw(t, s.Addr())
			require.Equal(t, wire.OK, last.must(wire.OpCreate, create("/n", "", 2, open...)).Err)
		}
		ens.Elect()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		l, err := ens.AwaitLeader(ctx)
		cancel()
		require.NoError(t, err)
		last.gone()
		c := dialRaw(t, l.Addr())
		_, err = c.again(last, 0)
		require.NoError(t, err)
		require.Equal(t, last.session, c.session)
		require.Equal(t, wire.OK, c.must(wire.OpCreate, create("/n", "", 2, open...)).Err)
		require.Len(t, l.Children("/"), n+2)
	}
}

func TestAClosedEnsemble(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		a := q.raw(q.srv[0], "A", long)
		q.ens.Isolate(q.srv[0])
		failed := make(chan error)
		go func() { failed <- q.srv[0].Create("/n", nil) }()
		waited := make(chan error)
		q.ens.Kill(q.srv[1])
		go func() {
			_, err := q.ens.AwaitLeader(context.WithoutCancel(q.Context()))
			waited <- err
		}()
		time.Sleep(time.Second)
		q.ens.Close()
		require.ErrorIs(q, <-failed, zktest.ErrNotServing)
		require.ErrorIs(q, <-waited, net.ErrClosed)
		a.gone()
		q.ens.Close()
		q.ens.Restart(q.srv[1])
		q.srv[0].Close()
		require.ErrorIs(q, q.srv[0].Create("/n", nil), zktest.ErrNotServing)
	})
}

func TestAClosedMemberIsAKilledOne(t *testing.T) {
	inQuorum(t, func(q *quorum) {
		q.srv[2].Close()
		l := q.leader()
		require.NoError(q, l.Create("/n", nil))
		q.ens.Restart(q.srv[2])
		time.Sleep(time.Minute)
		require.False(q, q.srv[2].Exists("/n"), "for good")
	})
}

func TestEnsembleOptions(t *testing.T) {
	ln := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		return l
	}
	for want, try := range map[string]func() error{
		"ensemble of 0":    func() error { _, err := zktest.StartEnsemble(0); return err },
		"WithListeners":    func() error { _, err := zktest.StartEnsemble(3, zktest.WithListener(ln())); return err },
		"ensemble of 1000": func() error { _, err := zktest.StartEnsemble(1000); return err },
		"1 listeners":      func() error { _, err := zktest.StartEnsemble(3, zktest.WithListeners(ln())); return err },
		"sync limit 0":     func() error { _, err := zktest.StartEnsemble(3, zktest.WithSyncLimit(0)); return err },
		"peer delay":       func() error { _, err := zktest.StartEnsemble(3, zktest.WithPeerDelay(2, 1)); return err },
		"sync limit 922":   func() error { _, err := zktest.StartEnsemble(3, zktest.WithSyncLimit(math.MaxInt)); return err },
		"peer delay from 0s to 2562047h": func() error {
			_, err := zktest.StartEnsemble(3, zktest.WithPeerDelay(0, math.MaxInt64))
			return err
		},
		"apply delay":    func() error { _, err := zktest.StartEnsemble(3, zktest.WithApplyDelay(-1, 1)); return err },
		"election time":  func() error { _, err := zktest.StartEnsemble(3, zktest.WithElectionTime(2, 1)); return err },
		"tick":           func() error { _, err := zktest.StartEnsemble(3, zktest.WithTick(0)); return err },
		"for an ensembl": func() error { _, err := zktest.Start(zktest.WithListeners(ln())); return err },
	} {
		require.ErrorContains(t, try(), want)
	}
	ens, other := zktest.NewEnsemble(t, 1), zktest.New(t)
	for _, f := range []func(*zktest.Server){ens.Isolate, ens.Kill, ens.Restart,
		func(s *zktest.Server) { ens.Lag(s, 0) }, func(s *zktest.Server) { ens.CutOneWay(s, ens.Servers()[0]) }} {
		require.Panics(t, func() { f(other) })
	}
	require.Panics(t, func() { ens.Lag(ens.Servers()[0], -1) })
}
