package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The context at hand is the hold's, or fn's of Do, or one made of it: Unlock
// ended it itself and took that for the caller's leave.
func TestUnlockOutlivesTheEndOfItsOwnHoldsContext(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, file := s.Dial("a"), s.protects()
		m := s.mutex(c)
		h := s.lock(m, s.Timeout)
		file.admits(h)
		require.NoError(s.T, h.Unlock(h.Context()))
		require.Empty(s.T, s.Nodes())
		require.ErrorIs(s.T, context.Cause(h.Context()), zklock.ErrReleased)
		require.NoError(s.T, h.Unlock(h.Context()), "repeats its answer")

		h = s.lock(m, s.Timeout)
		ctx, cancel := context.WithTimeout(h.Context(), s.Timeout)
		defer cancel()
		require.NoError(s.T, h.Unlock(ctx))
		require.NoError(s.T, m.Do(s.Ctx, func(ctx context.Context, h *zklock.Hold) error {
			require.NoError(s.T, h.Unlock(ctx))
			require.ErrorIs(s.T, context.Cause(ctx), zklock.ErrReleased)
			return nil
		}))
		require.Empty(s.T, s.Nodes())
	})
}

// It waits no longer than the session timeout, and than the deadline of ctx,
// which no longer tells when it comes.
func TestUnlockOutlivesItsHoldsContextForSoLong(t *testing.T) {
	for claim, c := range map[string]struct {
		of   func(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc)
		want func(timeout time.Duration) time.Duration
	}{
		"NoDeadline": {
			func(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
				return context.WithCancel(ctx)
			},
			func(timeout time.Duration) time.Duration { return timeout },
		},
		"ItsOwnDeadline": {
			func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, d/5)
			},
			func(timeout time.Duration) time.Duration { return timeout / 5 },
		},
		"ADeadlineFarAway": {
			func(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
				return context.WithTimeout(ctx, 5*d)
			},
			func(timeout time.Duration) time.Duration { return timeout },
		},
	} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				a := s.Dial("a")
				h := s.lock(s.mutex(a), s.Timeout)
				s.Of(a).DropRequest(zktest.OpDelete, 1<<20) // the session lives on
				ctx, cancel := c.of(h.Context(), s.Timeout)
				defer cancel()
				began := time.Now()
				err := h.Unlock(ctx)
				require.ErrorIs(s.T, err, context.DeadlineExceeded)
				require.ErrorContains(s.T, err, s.Path)
				require.Equal(s.T, c.want(s.Timeout), time.Since(began))
				require.Equal(s.T, zklock.Releasing, h.State())
			})
		})
	}
}

// What ends ctx otherwise ends the wait: its end before the call, another hold's
// release, and whatever else its owner cancels it with.
func TestUnlockHeedsEveryOtherEndOfItsContext(t *testing.T) {
	virtually(t, func(s *scene) {
		a := s.Dial("a")
		h, other := s.lock(s.mutex(a), s.Timeout), s.lock(s.below("other").mutex(s.Dial("b")), s.Timeout)
		s.Of(a).DropRequest(zktest.OpDelete, 1<<20)
		began := time.Now()
		time.AfterFunc(time.Second, func() { _ = other.Unlock(s.Ctx) })
		require.ErrorIs(s.T, h.Unlock(other.Context()), zklock.ErrReleased)
		require.Equal(s.T, time.Second, time.Since(began), "another's release is its owner's word")
		require.ErrorIs(s.T, h.Unlock(h.Context()), zklock.ErrReleased)
		require.Equal(s.T, time.Second, time.Since(began), "it had ended when it was given")
	})
}
