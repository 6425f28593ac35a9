package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

var errEnough = errors.New("enough")

func TestLock(t *testing.T) {
	t.Run("FirstComeFirstServedWithRisingTokens", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			var rs []*result
			for i := range 5 {
				rs = append(rs, w.start(w.ctx, w.mutex(w.dial(fmt.Sprint("c", i)))))
			}
			var last fencing.Token
			for i, r := range rs {
				w.settle()
				require.True(t, r.returned())
				require.NoError(t, r.err)
				require.Positive(t, r.hold.Token().Compare(last))
				last = r.hold.Token()
				for _, later := range rs[i+1:] {
					require.False(t, later.returned())
				}
				require.NoError(t, r.hold.Unlock(w.ctx))
			}
		})
	})

	t.Run("TheTokenIsTheCzxidOfTheOwnNode", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.dial("b")
			_, st, err := w.Server.Get(path + "/" + w.Server.Children(path)[0])
			require.NoError(t, err)
			require.EqualValues(t, st.Czxid, h.Token().Uint64())
			require.NotEqual(t, st.Czxid, w.Server.Zxid(), "else this test could not fail")
		})
	})

	t.Run("TwoMutexesOnOneClientExcludeEachOther", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			h := w.lock(w.mutex(c))
			r := w.start(w.ctx, w.mutex(c))
			require.False(t, r.returned())
			require.NoError(t, h.Unlock(w.ctx))
			<-r.done
			require.NoError(t, r.err)
		})
	})

	t.Run("ItsContextBoundsTheWaitAndTheErrorIsItsCauseWithThePath", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.lock(w.mutex(w.dial("a")))
			ctx, cancel := context.WithCancelCause(w.ctx)
			r := w.start(ctx, w.mutex(w.dial("b")))
			require.Equal(t, 2, w.contenders())
			cancel(errEnough)
			w.settle()
			require.True(t, r.returned())
			require.ErrorIs(t, r.err, errEnough)
			require.ErrorContains(t, r.err, path)
			require.Nil(t, r.hold)
			require.Equal(t, 1, w.contenders())
		})
	})

	t.Run("AnEndedContextSendsNothing", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			ctx, cancel := context.WithCancelCause(w.ctx)
			cancel(errEnough)
			since := w.mark()
			_, err := m.Lock(ctx)
			require.ErrorIs(t, err, errEnough)
			w.settle()
			require.Empty(t, w.requests(since, "a"))
		})
	})

	// The clean-up ran on the caller's ended context: the node stayed, and blocked
	// all behind it for as long as the session lived.
	t.Run("ADeadlineThatStrikesInAnOutageIsPromptAndLeavesNothing", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			m := w.mutex(w.dial("b"))
			ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
			defer cancel()
			begun := time.Now()
			r := w.start(ctx, m)
			w.Server.From("b").Freeze(zktest.BothWays)
			<-r.done
			require.ErrorIs(t, r.err, context.DeadlineExceeded)
			require.Less(t, r.at.Sub(begun), 301*time.Millisecond)
			require.Equal(t, 2, w.contenders())
			w.pass(time.Second)
			w.Server.From("b").Unfreeze()
			w.pass(time.Second)
			require.Equal(t, 1, w.contenders())
			require.NoError(t, h.Unlock(w.ctx))
		})
	})

	// Somebody writes defer cancel() right after Lock, or gives Lock a timeout: the
	// hold was over when that was.
	t.Run("ItsContextNeverEndsTheHold", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			type key struct{}
			ctx, cancel := context.WithTimeout(context.WithValue(w.ctx, key{}, "v"), time.Second)
			h, err := w.mutex(w.dial("a")).Lock(ctx)
			require.NoError(t, err)
			cancel()
			w.pass(3 * T)
			require.NoError(t, h.Context().Err())
			require.Equal(t, zklock.Held, h.State())
			require.Equal(t, 1, w.contenders())
			require.Equal(t, "v", h.Context().Value(key{}))
			token, ok := fencing.FromContext(h.Context())
			require.True(t, ok)
			require.Equal(t, h.Token(), token)
			_, bounded := h.Context().Deadline()
			require.False(t, bounded)
		})
	})

	// err is nil exactly if there is a hold, and without one nothing stays: with
	// ctx ended at every step of an acquisition, before and after it took effect.
	t.Run("AContextThatEndsAtAnyStepLeavesEitherAHoldOrNothing", func(t *testing.T) {
		for _, op := range []zktest.Op{zktest.OpCreate, zktest.OpGetData, zktest.OpGetChildren2, zktest.OpMulti} {
			for _, after := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v/replied=%v", op, after), func(t *testing.T) {
					run(t, func(t *testing.T, w *world) {
						first := w.lock(w.mutex(w.dial("a")))
						c := w.dial("b")
						m := w.mutex(c)
						ctx, cancel := context.WithCancel(w.ctx)
						hook := w.Server.From("b").At
						if after {
							hook = w.Server.From("b").AtReply
						}
						hook(op, func(zktest.Request) { cancel() })
						r := w.start(ctx, m)
						require.NoError(t, first.Unlock(w.ctx))
						<-r.done
						w.settle()
						if r.err != nil {
							require.ErrorIs(t, r.err, context.Canceled)
							require.Nil(t, r.hold)
							require.Zero(t, w.contenders())
							return
						}
						require.Equal(t, zklock.Held, r.hold.State())
						require.Equal(t, 1, w.contenders())
						require.NoError(t, r.hold.Unlock(w.ctx))
					})
				})
			}
		}
	})

	t.Run("AContextThatEndsAfterTheLastAnswerAndBeforeTheGrantGivesItBack", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			ctx := &tardy{Context: w.ctx}
			w.Server.At(zktest.OpGetChildren2, func(zktest.Request) { ctx.over.Store(true) })
			_, err := m.Lock(ctx)
			require.ErrorIs(t, err, context.Canceled)
			w.settle()
			require.Zero(t, w.contenders())
		})
	})

	t.Run("CloseFailsEveryWait", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.lock(w.mutex(w.dial("a")))
			c := w.dial("b")
			m := w.mutex(c)
			r := w.start(w.ctx, m)
			require.NoError(t, c.Close(w.ctx))
			<-r.done
			require.ErrorIs(t, r.err, zkconn.ErrClosed)
			require.ErrorContains(t, r.err, path)
			require.Equal(t, 1, w.contenders())
			_, err := m.Lock(w.ctx)
			require.ErrorIs(t, err, zkconn.ErrClosed)
			_, err = m.TryLock(w.ctx)
			require.ErrorIs(t, err, zkconn.ErrClosed)
			_, err = m.Queue(w.ctx)
			require.ErrorIs(t, err, zkconn.ErrClosed)
		})
	})

	t.Run("ARefusalIsReturned", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			owner := w.dial("owner", zkconn.WithAuth("digest", []byte("o:pw")))
			w.lock(w.mutex(owner))
			_, err := w.mutex(w.dial("b")).Lock(w.ctx)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.ErrorContains(t, err, path)
		})
	})
}

// tardy has ended when over is set; nobody who waits for it is woken.
type tardy struct {
	context.Context
	over atomic.Bool
}

func (c *tardy) Err() error {
	if c.over.Load() {
		return context.Canceled
	}
	return nil
}

func TestTheQueueIsKeptThroughFaults(t *testing.T) {
	t.Run("ASessionLostWhileWaitingQueuesAgainOnTheNext", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			b := w.dial("b")
			r := w.start(w.ctx, w.mutex(b))
			old := w.session(b)
			before := w.Server.Children(path)
			require.NoError(t, w.Server.Expire(old))
			w.pass(2 * time.Second)
			require.NotEqual(t, old, w.session(b))
			after := w.Server.Children(path)
			require.Len(t, after, 2)
			require.NotEqual(t, before, after)
			for _, child := range after {
				if !slices.Contains(before, child) {
					require.NotContains(t, before, child[:39], "a new session is a new contender, with a GUID of its own")
				}
			}
			require.NoError(t, h.Unlock(w.ctx))
			<-r.done
			require.NoError(t, r.err)
		})
	})

	// The waiter waited on without a node, and acquired without one.
	t.Run("AnOperatorWhoDeletesTheNodeOfAWaiterEvictsIt", func(t *testing.T) {
		for _, how := range []string{"connected", "disconnected"} {
			t.Run(how, func(t *testing.T) {
				run(t, func(t *testing.T, w *world) {
					w.lock(w.mutex(w.dial("a")))
					held := w.Server.Children(path)[0]
					r := w.start(w.ctx, w.mutex(w.dial("b")))
					if how == "disconnected" {
						w.Net.Partition("b", w.Server.Addr())
						w.settle()
					}
					for _, child := range w.Server.Children(path) {
						if child != held {
							require.NoError(t, w.Server.Delete(path+"/"+child))
						}
					}
					if how == "disconnected" {
						w.pass(time.Second)
						w.Net.HealAll()
					}
					w.pass(2 * time.Second)
					require.True(t, r.returned())
					require.ErrorIs(t, r.err, zklock.ErrEvicted)
					require.Equal(t, 1, w.contenders())
				})
			})
		}
	})

	t.Run("AWaiterThatGivesUpDoesNotLetTheNextOneIn", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			ctx, cancel := context.WithCancel(w.ctx)
			b := w.start(ctx, w.mutex(w.dial("b")))
			c := w.start(w.ctx, w.mutex(w.dial("c")))
			cancel()
			<-b.done
			w.pass(T)
			require.False(t, c.returned())
			require.NoError(t, h.Unlock(w.ctx))
			<-c.done
			require.NoError(t, c.err)
		})
	})

	// An event that a client library loses on a reconnect must not be the only way
	// to hear of the predecessor's end.
	t.Run("APredecessorThatGoesDuringAnOutageIsNoticedAfterIt", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			r := w.start(w.ctx, w.mutex(w.dial("b")))
			for range 5 {
				w.Server.From("b").Cut()
				w.pass(200 * time.Millisecond)
				require.False(t, r.returned())
			}
			w.Server.From("b").Refuse(true)
			w.Server.From("b").Cut()
			w.pass(time.Second)
			require.NoError(t, h.Unlock(w.ctx))
			w.Server.From("b").Refuse(false)
			w.pass(2 * time.Second)
			require.True(t, r.returned())
			require.NoError(t, r.err)
		})
	})

	t.Run("AfterAReconnectAllWaitersOfAClientShareOneList", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.lock(w.mutex(w.dial("a")))
			c := w.dial("b")
			ctx, cancel := context.WithCancel(w.ctx)
			var rs []*result
			for range 20 {
				rs = append(rs, w.start(ctx, w.mutex(c)))
			}
			w.Server.ResetCounts()
			w.Server.From("b").Cut()
			w.pass(2 * time.Second)
			require.LessOrEqual(t, w.Server.From("b").Count(zktest.OpGetChildren2), 2, w.Server.Trace(60))
			require.Zero(t, w.Server.From("b").Count(zktest.OpMulti))
			require.LessOrEqual(t, w.Server.From("b").Count(zktest.OpGetData), 21, "one read per node watched: 20 own, one holder's")
			cancel()
			for _, r := range rs {
				<-r.done
			}
			w.settle()
			require.Equal(t, 1, w.contenders())
		})
	})
}

func TestLimitsAndStrangers(t *testing.T) {
	t.Run("MaxQueueCountsThoseAhead", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			b := w.mutex(w.dial("b"), zklock.WithMaxQueue(2))
			ok := w.start(w.ctx, b)
			require.False(t, ok.returned())
			_, err := b.Lock(w.ctx)
			require.ErrorIs(t, err, zklock.ErrQueueFull)
			w.settle()
			require.Equal(t, 2, w.contenders())
			require.NoError(t, h.Unlock(w.ctx))
			<-ok.done
			require.NoError(t, ok.err)
		})
	})

	t.Run("AChildOfAnotherRecipeIsNamed", func(t *testing.T) {
		for _, child := range []string{"_c_x-latch-0000000003", "_c_x-lease-0000000003", "x__READ__0000000003", "x__WRIT__0000000003"} {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create(path+"/"+child, nil))
				_, err := w.mutex(w.dial("a")).Lock(w.ctx)
				require.ErrorIs(t, err, zklock.ErrForeignRecipe)
				require.ErrorContains(t, err, child)
				w.settle()
				require.Equal(t, []string{child}, w.Server.Children(path))
			})
		}
	})

	t.Run("OtherChildrenAreIgnoredAndReportedOnce", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			odd := []string{"_c_", "_c_x", "config", "lock-", "lock--1", "lock-٠١٢٣٤٥٦٧٨٩", "nested"}
			for _, child := range odd {
				require.NoError(t, w.Server.Create(path+"/"+child, nil))
			}
			var ignored []string
			m := w.mutex(w.dial("a"), zklock.WithTrace(&zklock.Trace{Ignored: func(_ zklock.Attempt, child string) { ignored = append(ignored, child) }}))
			first := w.lock(w.mutex(w.dial("b")))
			r := w.start(w.ctx, m)
			require.NoError(t, first.Unlock(w.ctx))
			<-r.done
			require.NoError(t, r.err)
			w.settle()
			slices.Sort(ignored)
			require.Equal(t, odd, ignored)
		})
	})

	t.Run("AStrangerThatLooksLikeAContenderIsWaitedFor", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(path+"/by-hand-lock-0000000000", nil))
			r := w.start(w.ctx, w.mutex(w.dial("a")))
			w.pass(T)
			require.False(t, r.returned())
			require.NoError(t, w.Server.Delete(path+"/by-hand-lock-0000000000"))
			<-r.done
			require.NoError(t, r.err)
		})
	})

	t.Run("PastTheEndOfTheSequenceOneHoldsAtATimeInOrder", func(t *testing.T) {
		for _, start := range []int32{2147483645, -2147483648, -3} {
			t.Run(fmt.Sprint(start), func(t *testing.T) {
				run(t, func(t *testing.T, w *world) {
					require.NoError(t, w.Server.Create(path, nil))
					require.NoError(t, w.Server.SetSequence(path, start))
					var rs []*result
					for i := range 6 {
						rs = append(rs, w.start(w.ctx, w.mutex(w.dial(fmt.Sprint("c", i)))))
					}
					var last fencing.Token
					for i, r := range rs {
						w.settle()
						require.True(t, r.returned(), "%d: %v", i, w.Server.Children(path))
						require.NoError(t, r.err)
						require.Positive(t, r.hold.Token().Compare(last))
						last = r.hold.Token()
						for _, later := range rs[i+1:] {
							require.False(t, later.returned())
						}
						require.NoError(t, r.hold.Unlock(w.ctx))
					}
				})
			})
		}
	})
}

func TestQueueShowsWhoHoldsAndWaits(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		m := w.mutex(w.dial("observer"))
		none, err := m.Queue(w.ctx)
		require.NoError(t, err)
		require.Empty(t, none)

		a, b := w.dial("a"), w.dial("b")
		begun := time.Now()
		h := w.lock(w.mutex(a))
		w.start(w.ctx, w.mutex(b))
		require.NoError(t, w.Server.Create(path+"/config", []byte("x")))
		since := w.mark()
		got, err := m.Queue(w.ctx)
		require.NoError(t, err)
		require.Equal(t, "getChildren2 getData getData", w.requests(since, "observer"))
		require.Len(t, got, 2)
		for i, c := range got {
			require.Equal(t, i, c.Position)
			require.Contains(t, w.Server.Children(path), c.Node)
			require.WithinDuration(t, begun, c.Created, time.Second)
		}
		require.Equal(t, "a", got[0].Identity)
		require.Equal(t, w.session(a), got[0].Session)
		require.Equal(t, h.Token().Uint64(), got[0].Epoch)
		require.Equal(t, "b", got[1].Identity)
		require.Equal(t, w.session(b), got[1].Session)

		w.Server.From("observer").DropRequest(zktest.OpGetChildren2, 1)
		got, err = m.Queue(w.ctx)
		require.NoError(t, err, "reads are repeated")
		require.Len(t, got, 2)
	})
}
