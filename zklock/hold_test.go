package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

func TestEveryWayToLoseAHold(t *testing.T) {
	for _, c := range []struct {
		reason zklock.Reason
		opts   []zklock.Option
		bring  func(w *world, c *zkconn.Client)
		within time.Duration
		also   error
	}{
		{reason: zklock.SessionExpired, within: time.Second,
			bring: func(w *world, c *zkconn.Client) {
				id := w.session(c)
				w.Server.From("a").Cut()
				_ = w.Server.Expire(id)
			}},
		{reason: zklock.SessionReplaced, within: time.Second,
			bring: func(w *world, c *zkconn.Client) { w.Server.NewSession(1); w.Server.From("a").Cut() }},
		{reason: zklock.TrustRanOut, within: T,
			bring: func(w *world, c *zkconn.Client) { w.Net.Partition("a", w.Server.Addr()) }},
		{reason: zklock.NodeDeleted, within: 50 * time.Millisecond,
			bring: func(w *world, c *zkconn.Client) { _ = w.Server.Delete(path) }},
		{reason: zklock.NodeDeleted, within: 50 * time.Millisecond, // the event comes before the end of the connection
			bring: func(w *world, c *zkconn.Client) { _ = w.Server.Expire(w.session(c)) }},
		{reason: zklock.MaxHold, within: T, also: zklock.ErrMaxHold, opts: []zklock.Option{zklock.WithMaxHold(7 * time.Second)},
			bring: func(w *world, c *zkconn.Client) {}},
		{reason: zklock.EagerLoss, within: time.Second, opts: []zklock.Option{zklock.WithEagerLoss()},
			bring: func(w *world, c *zkconn.Client) { w.Server.From("a").Cut() }},
		{reason: zklock.ClientClosed, within: time.Second, also: zkconn.ErrClosed,
			bring: func(w *world, c *zkconn.Client) { _ = c.Close(w.ctx) }},
	} {
		t.Run(c.reason.String(), func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				client := w.dial("a")
				h := w.lock(w.mutex(client, c.opts...))
				last := h.Next()
				w.pass(3 * time.Second)
				require.NoError(t, h.Context().Err())
				require.Positive(t, h.Remaining())
				begun := time.Now()
				c.bring(w, client)
				<-h.Context().Done()
				require.LessOrEqual(t, time.Since(begun), c.within)

				cause := context.Cause(h.Context())
				var lost *zklock.LostError
				require.ErrorAs(t, cause, &lost)
				require.Equal(t, &zklock.LostError{Path: path, Token: h.Token(), Reason: c.reason}, lost)
				require.ErrorIs(t, cause, zklock.ErrLost)
				if c.also != nil {
					require.ErrorIs(t, cause, c.also)
				}
				require.Equal(t, context.Canceled, h.Context().Err())

				w.Net.HealAll()
				for range 2 {
					require.Equal(t, fencing.Stamp{Token: h.Token(), Seq: last.Seq + 1}, h.Next(), "the resource is to refuse it, by its right name")
					last.Seq++
					require.LessOrEqual(t, h.Remaining(), time.Duration(0))
					require.Contains(t, []zklock.State{zklock.Lost, zklock.Idle}, h.State())
					require.ErrorIs(t, h.Ready(w.ctx, 0), zklock.ErrLost)
					require.Equal(t, error(lost), h.Unlock(w.ctx))
					w.pass(2 * T)
				}
				require.Equal(t, zklock.Idle, h.State())
				require.Zero(t, w.contenders())
			})
		})
	}
}

func TestALossComesBeforeASuccessor(t *testing.T) {
	// The session was closed on the server, another client was granted the lock,
	// and only then the old holder's context ended.
	t.Run("TheContextHasEndedWhenTheServerIsTold", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			h := w.lock(w.mutex(c))
			ended := make(chan bool, 1)
			w.Server.From("a").At(zktest.OpCloseSession, func(zktest.Request) { ended <- h.Context().Err() != nil })
			require.NoError(t, c.Close(w.ctx))
			require.True(t, <-ended)
		})
	})

	t.Run("SilenceEndsTheHoldBeforeTheEnsembleGivesTheNodeAway", func(t *testing.T) {
		for claim, fault := range map[string]func(*world){
			"Partition":   func(w *world) { w.Net.Partition("a", w.Server.Addr()) },
			"Blackhole":   func(w *world) { w.Server.From("a").Blackhole(true) },
			"Freeze":      func(w *world) { w.Server.From("a").Freeze(zktest.BothWays) },
			"NoAnswers":   func(w *world) { w.Server.From("a").Freeze(zktest.ToClient) },
			"NoQuestions": func(w *world) { w.Server.From("a").Freeze(zktest.ToServer) },
			"Refused":     func(w *world) { w.Server.From("a").Refuse(true); w.Server.From("a").Cut() },
		} {
			t.Run(claim, func(t *testing.T) {
				run(t, func(t *testing.T, w *world) {
					h := w.lock(w.mutex(w.dial("a")))
					b := w.start(w.ctx, w.mutex(w.dial("b")))
					var lostAt time.Time
					watched := make(chan struct{})
					go func() {
						defer close(watched)
						<-h.Context().Done()
						lostAt = time.Now()
					}()
					w.pass(3 * T)
					fault(w)
					<-b.done
					<-watched
					require.NoError(t, b.err)
					require.True(t, lostAt.Before(b.at), "lost %v after the takeover", lostAt.Sub(b.at))
					require.Positive(t, b.hold.Token().Compare(h.Token()))
				})
			})
		}
	})

	t.Run("MaxHoldFreesTheLockWhateverTheHolderDoes", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			granted := time.Now()
			h := w.lock(w.mutex(w.dial("a"), zklock.WithMaxHold(time.Minute)))
			b := w.start(w.ctx, w.mutex(w.dial("b")))
			<-b.done
			require.WithinDuration(t, granted.Add(time.Minute), b.at, time.Second)
			require.ErrorIs(t, context.Cause(h.Context()), zklock.ErrMaxHold)
		})
	})
}

func TestSuspicion(t *testing.T) {
	t.Run("ABlipIsSuspectAndNoLoss", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			var states []zklock.State
			h := w.lock(w.mutex(w.dial("a"), zklock.WithTrace(&zklock.Trace{State: func(_ zklock.Attempt, tr zklock.Transition) { states = append(states, tr.To) }})))
			token := h.Token()
			w.pass(T)
			w.Server.From("a").Refuse(true)
			w.Server.From("a").Cut()
			w.pass(200 * time.Millisecond)
			require.Equal(t, zklock.Suspect, h.State())
			require.Positive(t, h.Remaining())
			w.Server.From("a").Refuse(false)
			w.pass(2 * time.Second)
			require.Equal(t, zklock.Held, h.State())
			require.Equal(t, token, h.Token())
			require.NoError(t, h.Context().Err())
			require.Equal(t, []zklock.State{zklock.Acquiring, zklock.Held, zklock.Suspect, zklock.Held}, states)
		})
	})

	t.Run("ALinkThatGoesAndComesBackFiftyTimesLosesNothing", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			for range 50 {
				w.Server.From("a").Cut()
				w.pass(200 * time.Millisecond)
			}
			w.pass(T / 4)
			require.Equal(t, zklock.Held, h.State())
			require.Equal(t, 1, w.contenders())
			require.NoError(t, h.Unlock(w.ctx))
		})
	})

	t.Run("EagerLossTakesEvenABlipThatHasHealed", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"), zklock.WithEagerLoss())
			h := w.lock(m)
			w.pass(3 * T)
			require.NoError(t, h.Context().Err())
			w.Server.From("a").Cut()
			w.pass(2 * time.Second)
			require.Equal(t, zklock.EagerLoss, h.Unlock(w.ctx).(*zklock.LostError).Reason)
			require.Zero(t, w.contenders(), "a loss that leaves the session alone leaves a debt")
			require.NoError(t, w.lock(m).Unlock(w.ctx))
		})
	})

	t.Run("EagerLossTakesABlipThatNobodySawWhileItLasted", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a"), zklock.WithEagerLoss()))
			w.settle()
			h.MissABlip()
			require.Equal(t, zklock.Lost, h.State())
			require.Equal(t, zklock.EagerLoss, h.Unlock(w.ctx).(*zklock.LostError).Reason)
		})
	})
}

func TestReady(t *testing.T) {
	t.Run("IsNilAtOnceWithEnoughTimeLeft", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			begun := time.Now()
			require.NoError(t, h.Ready(w.ctx, T/2))
			require.Equal(t, begun, time.Now())
		})
	})

	t.Run("WaitsForMoreThanIsLeft", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.pass(T)
			need := h.Remaining() + 10*time.Millisecond
			require.NoError(t, h.Ready(w.ctx, need))
			require.GreaterOrEqual(t, h.Remaining(), need)
		})
	})

	t.Run("WaitsWhileSuspect", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.Server.From("a").Refuse(true)
			w.Server.From("a").Cut()
			w.settle()
			errs := make(chan error, 1)
			go func() { errs <- h.Ready(w.ctx, 0) }()
			w.pass(time.Second)
			require.Empty(t, errs)
			w.Server.From("a").Refuse(false)
			require.NoError(t, <-errs)
			require.Equal(t, zklock.Held, h.State())
		})
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.Server.From("a").Refuse(true)
			w.Server.From("a").Cut()
			w.settle()
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			err := h.Ready(ctx, 0)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, path)
		})
	})

	t.Run("EndsWithTheHold", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			w.Net.Partition("a", w.Server.Addr())
			w.pass(T / 2)
			require.ErrorIs(t, h.Ready(w.ctx, 0), zklock.ErrLost)
		})
	})

	t.Run("MoreThanThereCanEverBeIsTooLong", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			require.ErrorIs(t, h.Ready(w.ctx, T+1), zklock.ErrTooLong)
			require.ErrorIs(t, h.Ready(w.ctx, T-T/20), zklock.ErrTooLong, "what the margin takes never comes back")
			limited := w.lock2(w.dial("b"), "/locks/other", zklock.WithMaxHold(3*time.Second))
			require.NoError(t, limited.Ready(w.ctx, 2*time.Second))
			w.pass(2 * time.Second)
			require.ErrorIs(t, limited.Ready(w.ctx, 2*time.Second), zklock.ErrTooLong)
			require.LessOrEqual(t, limited.Remaining(), time.Second)
		})
	})
}

func TestTrace(t *testing.T) {
	t.Run("TellsTheStoryOfAnAttemptInOrder", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			var got []string
			say := func(s string) { got = append(got, s) }
			hooks := &zklock.Trace{
				State:    func(_ zklock.Attempt, tr zklock.Transition) { say(tr.From.String() + ">" + tr.To.String()) },
				Enrolled: func(zklock.Attempt, string) { say("enrolled") },
				Waiting:  func(zklock.Attempt, string, int) { say("waiting") },
				Granted:  func(zklock.Attempt, fencing.Token) { say("granted") },
				Lost:     func(zklock.Attempt, *zklock.LostError) { say("lost") },
				Failed:   func(zklock.Attempt, error) { say("failed") },
				Released: func(_ zklock.Attempt, proven bool) {
					if proven {
						say("released")
					} else {
						say("gone")
					}
				},
			}
			c := w.dial("a")
			m := w.mutex(c, zklock.WithTrace(hooks))
			*hooks = zklock.Trace{} // New has its own copy
			first := w.lock(w.mutex(w.dial("b")))
			r := w.start(w.ctx, m)
			require.NoError(t, first.Unlock(w.ctx))
			<-r.done
			require.NoError(t, r.hold.Unlock(w.ctx))
			w.settle()
			require.Equal(t, []string{"Idle>Acquiring", "enrolled", "waiting", "Acquiring>Held", "granted", "Held>Releasing", "Releasing>Idle", "released"}, got)

			got = nil
			other := w.lock(w.mutex(w.dial("c")))
			_, err := m.TryLock(w.ctx)
			require.Error(t, err)
			w.settle()
			require.Equal(t, []string{"Idle>Acquiring", "enrolled", "Acquiring>Releasing", "failed", "Releasing>Idle", "released"}, got)
			require.NoError(t, other.Unlock(w.ctx))

			got = nil
			w.lock(m)
			require.NoError(t, w.Server.Delete(path))
			w.settle()
			require.Equal(t, []string{"Idle>Acquiring", "enrolled", "Acquiring>Held", "granted", "Held>Lost", "lost", "Lost>Releasing", "Releasing>Idle", "released"}, got)

			got = nil
			w.lock(m)
			require.NoError(t, c.Close(w.ctx))
			w.settle()
			require.Equal(t, []string{"Idle>Acquiring", "enrolled", "Acquiring>Held", "granted", "Held>Lost", "lost", "Lost>Idle", "gone"}, got)
		})
	})

	t.Run("AHookThatBlocksDelaysNoLossNoUnlockAndNoClose", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			release := make(chan struct{})
			c := w.dial("a")
			m := w.mutex(c, zklock.WithTrace(&zklock.Trace{State: func(zklock.Attempt, zklock.Transition) { <-release }}))
			h := w.lock(m)
			require.NoError(t, h.Unlock(w.ctx))
			h = w.lock(m)
			require.NoError(t, w.Server.Delete(path))
			<-h.Context().Done()
			require.NoError(t, c.Close(w.ctx))
			close(release)
		})
	})

	t.Run("AHookMayCloseTheClient", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			closed := make(chan error, 1)
			h := w.lock(w.mutex(c, zklock.WithTrace(&zklock.Trace{Granted: func(zklock.Attempt, fencing.Token) { closed <- c.Close(w.ctx) }})))
			require.NoError(t, <-closed)
			require.ErrorIs(t, context.Cause(h.Context()), zkconn.ErrClosed)
		})
	})
}
