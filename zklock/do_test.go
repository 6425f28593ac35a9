package zklock_test

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

func TestDo(t *testing.T) {
	t.Run("HoldsWhileFnRunsAndReturnsItsError", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			type key struct{}
			err := w.mutex(w.dial("a")).Do(context.WithValue(w.ctx, key{}, "v"), func(ctx context.Context, h *zklock.Hold) error {
				require.Equal(t, zklock.Held, h.State())
				require.Equal(t, "v", ctx.Value(key{}))
				token, ok := fencing.FromContext(ctx)
				require.True(t, ok)
				require.Equal(t, h.Token(), token)
				require.Equal(t, 1, w.contenders())
				return errEnough
			})
			require.Equal(t, errEnough, err)
			require.Zero(t, w.contenders(), "released, and proven, when Do returns")
		})
	})

	t.Run("FnsContextEndsWithTheCallersCauseAndTheReleaseDoesNot", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancelCause(w.ctx)
			err := w.mutex(w.dial("a")).Do(ctx, func(ctx context.Context, h *zklock.Hold) error {
				cancel(errEnough)
				<-ctx.Done()
				require.NoError(t, h.Context().Err(), "the hold goes on until fn has returned")
				return context.Cause(ctx)
			})
			require.Equal(t, errEnough, err)
			require.Zero(t, w.contenders())
		})
	})

	t.Run("ALossEndsFnsContextAndIsJoinedToItsError", func(t *testing.T) {
		for claim, returns := range map[string]func(context.Context) error{
			"AnotherError": func(context.Context) error { return errEnough },
			"TheLoss":      context.Cause,
			"Nil":          func(context.Context) error { return nil },
		} {
			t.Run(claim, func(t *testing.T) {
				run(t, func(t *testing.T, w *world) {
					c := w.dial("a")
					var returned error
					err := w.mutex(c).Do(w.ctx, func(ctx context.Context, h *zklock.Hold) error {
						require.NoError(t, w.Server.Delete(path))
						<-ctx.Done()
						require.ErrorIs(t, context.Cause(ctx), zklock.ErrLost)
						returned = returns(ctx)
						return returned
					})
					require.ErrorIs(t, err, zklock.ErrLost)
					if returned != nil {
						require.ErrorIs(t, err, returned)
					}
					var lost *zklock.LostError
					require.ErrorAs(t, err, &lost)
					require.Equal(t, zklock.NodeDeleted, lost.Reason)
					require.Equal(t, path, lost.Path)
				})
			})
		}
	})

	t.Run("ALossThatOnlyTheClockShowsIsJoinedToo", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			err := w.mutex(w.dial("a"), zklock.WithMaxHold(time.Second)).Do(w.ctx, func(context.Context, *zklock.Hold) error {
				time.Sleep(time.Second) // the timer fires in this very instant, before or after fn returns
				return nil
			})
			require.ErrorIs(t, err, zklock.ErrMaxHold)
		})
	})

	t.Run("AnAcquireErrorIsWrappedWithThePath", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithCancelCause(w.ctx)
			cancel(errEnough)
			err := w.mutex(w.dial("a")).Do(ctx, func(context.Context, *zklock.Hold) error {
				t.Error("fn ran without a hold")
				return nil
			})
			require.ErrorIs(t, err, errEnough)
			require.ErrorContains(t, err, path)
		})
	})

	t.Run("AReleaseThatCannotBeProvenIsNoError", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			var released time.Time
			err := m.Do(w.ctx, func(context.Context, *zklock.Hold) error {
				w.Server.Refuse(true)
				w.Server.Cut()
				released = time.Now()
				return nil
			})
			require.NoError(t, err)
			require.LessOrEqual(t, time.Since(released), T+time.Second)
			w.Server.Refuse(false)
			w.pass(2 * T)
			require.Zero(t, w.contenders())
		})
	})

	t.Run("APanicReleasesAndPropagates", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			require.PanicsWithValue(t, "boom", func() {
				_ = m.Do(w.ctx, func(context.Context, *zklock.Hold) error { panic("boom") })
			})
			require.Zero(t, w.contenders())
		})
	})

	t.Run("GoexitReleases", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = m.Do(w.ctx, func(context.Context, *zklock.Hold) error { runtime.Goexit(); return nil })
			}()
			<-done
			require.Zero(t, w.contenders())
		})
	})

	t.Run("FnMayUnlockItself", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			since := 0
			require.NoError(t, m.Do(w.ctx, func(ctx context.Context, h *zklock.Hold) error {
				since = w.mark()
				require.NoError(t, h.Unlock(w.ctx))
				require.ErrorIs(t, context.Cause(ctx), zklock.ErrReleased)
				return nil
			}))
			require.Equal(t, "delete", w.requests(since, "a"))
		})
	})

	t.Run("FnMayCloseTheClient", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			err := w.mutex(c).Do(w.ctx, func(ctx context.Context, h *zklock.Hold) error {
				require.NoError(t, c.Close(w.ctx))
				return context.Cause(ctx)
			})
			var lost *zklock.LostError
			require.ErrorAs(t, err, &lost)
			require.Equal(t, zklock.ClientClosed, lost.Reason)
			require.Zero(t, w.contenders())
		})
	})

	t.Run("TheTraceHearsWhatFnReturned", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			var got []error
			m := w.mutex(w.dial("a"), zklock.WithTrace(&zklock.Trace{Returned: func(_ zklock.Attempt, err error) { got = append(got, err) }}))
			require.Error(t, m.Do(w.ctx, func(context.Context, *zklock.Hold) error { return errEnough }))
			w.settle()
			require.Equal(t, []error{errEnough}, got)
		})
	})
}

func TestUnlock(t *testing.T) {
	t.Run("IsNilOnceProvenAndEveryTimeAfter", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			since := w.mark()
			for range 3 {
				require.NoError(t, h.Unlock(w.ctx))
				require.Zero(t, w.contenders())
				require.Equal(t, zklock.Idle, h.State())
				require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)
			}
			require.Equal(t, "delete", w.requests(since, "a"))
		})
	})

	t.Run("ManyAtOnceJoinOneRelease", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			since := w.mark()
			errs := make(chan error)
			for range 20 {
				go func() { errs <- h.Unlock(w.ctx) }()
			}
			for range 20 {
				require.NoError(t, <-errs)
			}
			require.Equal(t, "delete", w.requests(since, "a"))
		})
	})

	t.Run("OwnershipEndsWhenItStartsWhateverBecomesOfIt", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.Server.From("a").Freeze(zktest.BothWays)
			ctx, cancel := context.WithCancelCause(w.ctx)
			cancel(errEnough)
			err := h.Unlock(ctx)
			require.ErrorIs(t, err, errEnough)
			require.ErrorContains(t, err, path)
			require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrReleased)
			require.Equal(t, zklock.Releasing, h.State())
			require.LessOrEqual(t, h.Remaining(), time.Duration(0))
			require.ErrorIs(t, h.Ready(w.ctx, 0), zklock.ErrReleased)
			require.Equal(t, 1, w.contenders())
			w.Server.From("a").Unfreeze()
			require.NoError(t, h.Unlock(w.ctx), "a second one really waits for the delete")
			require.Zero(t, w.contenders())
		})
	})

	t.Run("InAnOutageTheNodeGoesWhenTheLinkIsBack", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			b := w.start(w.ctx, w.mutex(w.dial("b")))
			w.Server.Refuse(true)
			w.Server.Cut()
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			require.ErrorIs(t, h.Unlock(ctx), context.DeadlineExceeded)
			w.pass(time.Second)
			w.Server.Refuse(false)
			w.pass(2 * time.Second)
			require.True(t, b.returned())
			require.NoError(t, b.err)
			require.NoError(t, h.Unlock(w.ctx))
		})
	})

	t.Run("ADeleteWhoseFateIsUnknownIsRepeated", func(t *testing.T) {
		for claim, fault := range map[string]func(*zktest.Target, zktest.Op, int){"Replies": (*zktest.Target).DropReply, "Requests": (*zktest.Target).DropRequest} {
			t.Run(claim, func(t *testing.T) {
				run(t, func(t *testing.T, w *world) {
					h := w.lock(w.mutex(w.dial("a")))
					fault(w.Server.From("a"), zktest.OpDelete, 3)
					require.NoError(t, h.Unlock(w.ctx))
					require.Zero(t, w.contenders())
				})
			})
		}
	})

	// Its retry found a node of the same number, after the directory had been made
	// again, and deleted it: a stranger's.
	t.Run("ALateRetryHarmsNobody", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			b := w.mutex(w.dial("b"))
			h := w.lock(w.mutex(w.dial("a")))
			w.Server.From("a").DropReply(zktest.OpDelete, 1)
			w.Server.From("a").Refuse(true)
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			require.Error(t, h.Unlock(ctx))
			require.NoError(t, w.Server.Delete(path))
			other := w.lock(b)
			require.Contains(t, w.Server.Children(path)[0], "-lock-0000000000")
			w.Server.From("a").Refuse(false)
			require.NoError(t, h.Unlock(w.ctx))
			w.pass(T)
			require.Equal(t, zklock.Held, other.State())
			require.Equal(t, 1, w.contenders())
		})
	})

	t.Run("AfterALossItIsTheLossAndTheMutexGoesOn", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			m := w.mutex(c)
			for range 20 {
				h := w.lock(m)
				require.NoError(t, w.Server.Expire(w.session(c)))
				<-h.Context().Done()
				for range 2 {
					var lost *zklock.LostError
					require.ErrorAs(t, h.Unlock(w.ctx), &lost)
					require.Equal(t, h.Token(), lost.Token)
				}
			}
			require.NoError(t, w.lock(m).Unlock(w.ctx))
		})
	})

	t.Run("ASessionThatEndsDuringItIsSaid", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			h := w.lock(w.mutex(c))
			w.Server.From("a").Freeze(zktest.BothWays)
			errs := make(chan error)
			go func() { errs <- h.Unlock(w.ctx) }()
			w.settle()
			go func() { _ = c.Close(w.ctx) }()
			err := <-errs
			require.Error(t, err)
			require.False(t, errors.Is(err, zklock.ErrLost), "it was not lost: it had been given up")
			require.Equal(t, zklock.Idle, h.State())
		})
	})
}
