package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
)

// Somebody bounds Lock by a second, or writes defer cancel() on the line after
// it, as every other call wants it. The hold's own context was that context's
// child: all of them were over within the second, most of them unnoticed.
func TestTheEndOfTheAcquireContextIsNothingToTheHold(t *testing.T) {
	acquire := map[string]func(context.Context, *zklock.Mutex) (*zklock.Hold, error){
		"Lock":    func(ctx context.Context, m *zklock.Mutex) (*zklock.Hold, error) { return m.Lock(ctx) },
		"TryLock": func(ctx context.Context, m *zklock.Mutex) (*zklock.Hold, error) { return m.TryLock(ctx) },
	}
	ends := map[string]func(ctx context.Context) (context.Context, context.CancelFunc){
		"CancelledAtOnce": context.WithCancel,
		"TimedOut": func(ctx context.Context) (context.Context, context.CancelFunc) {
			bounded, cancel := context.WithTimeout(ctx, time.Second)
			return bounded, func() { <-bounded.Done(); cancel() }
		},
	}
	for call, lock := range acquire {
		for end, bound := range ends {
			t.Run(call+"/"+end, func(t *testing.T) {
				virtually(t, func(s *scene) {
					a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
					ctx, cancel := bound(s.Ctx)
					begun := time.Now()
					h, err := lock(ctx, s.mutex(a))
					require.NoError(s.T, err)
					require.Less(s.T, time.Since(begun), s.slack())
					cancel()
					require.Error(s.T, ctx.Err())
					next := s.locking(s.Ctx, s.mutex(b))

					held := func() {
						s.T.Helper()
						require.NoError(s.T, h.Context().Err())
						require.Equal(s.T, zklock.Held, h.State())
						require.Positive(s.T, h.Remaining())
						require.NoError(s.T, h.Ready(s.Ctx, 0))
						require.True(s.T, s.Operator.Exists(h.Internal().Node))
						require.False(s.T, next.returned())
						file.admits(h)
					}
					held()
					s.Pass(3 * s.Timeout)
					held()
					// What stands by the hold, its watch and its proofs, is set up anew on a
					// new connection, long after the context has ended.
					s.Of(a).Cut()
					s.Pass(s.Timeout)
					held()
					node := h.Internal().Node
					require.NoError(s.T, h.Unlock(s.Ctx))
					require.False(s.T, s.Operator.Exists(node))
					file.admits(s.granted(next, time.Second))
					file.refuses(h)
				})
			})
		}
	}

	t.Run("TheOwnNodeIsWatchedAllTheSame", func(t *testing.T) {
		virtually(t, func(s *scene) {
			ctx, cancel := context.WithCancel(s.Ctx)
			h, err := s.mutex(s.Dial("a")).Lock(ctx)
			require.NoError(s.T, err)
			cancel()
			s.Pass(3 * s.Timeout)
			require.NoError(s.T, s.Operator.Delete(h.Internal().Node))
			require.Equal(s.T, zklock.NodeDeleted, s.lost(h, s.slack()).Reason)
		})
	})
}
