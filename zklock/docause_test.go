package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
)

// fn's context is not ctx, and its Err is Canceled whatever ended ctx: a caller
// who asked Do's error for his own deadline did not find it.
func TestDoTellsWhatEndedFnsContext(t *testing.T) {
	// do has ctx end after a second, by its deadline, and fn return after that.
	do := func(t *testing.T, fn func(w *world, ctx context.Context) error) (err error) {
		run(t, func(t *testing.T, w *world) {
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			err = w.mutex(w.dial("a")).Do(ctx, func(ctx context.Context, _ *zklock.Hold) error { return fn(w, ctx) })
		})
		return err
	}

	t.Run("ErrAfterADeadlineMatchesBoth", func(t *testing.T) {
		err := do(t, func(_ *world, ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, context.Canceled)
	})

	t.Run("AnErrorOfFnsOwnIsLeftAsItIs", func(t *testing.T) {
		own := fmt.Errorf("read: %w", context.Canceled)
		require.Equal(t, own, do(t, func(_ *world, ctx context.Context) error { <-ctx.Done(); return own }))
		require.NoError(t, do(t, func(_ *world, ctx context.Context) error { <-ctx.Done(); return nil }))
	})

	t.Run("CanceledBeforeCtxEndedIsLeftAsItIs", func(t *testing.T) {
		require.Equal(t, context.Canceled, do(t, func(*world, context.Context) error { return context.Canceled }))
	})

	t.Run("ALossThatCameFirstIsTheCause", func(t *testing.T) {
		err := do(t, func(w *world, ctx context.Context) error {
			require.NoError(w.T, w.Server.Delete(path))
			<-ctx.Done()
			w.pass(2 * time.Second) // ctx ends meanwhile, too late to be the cause
			return ctx.Err()
		})
		require.ErrorIs(t, err, zklock.ErrLost)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
	})
}
