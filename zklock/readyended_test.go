package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A hold with time to spare was ready for a caller who had none: the work began
// after the request that wanted it had been given up.
func TestReadyIsNeverNilOnAnEndedContext(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		h := w.lock(w.mutex(w.dial("a")))
		require.NoError(t, h.Ready(w.ctx, T/2))
		ctx, cancel := context.WithCancelCause(w.ctx)
		cancel(errEnough)
		for _, need := range []time.Duration{0, T / 2, 2 * T} {
			err := h.Ready(ctx, need)
			require.ErrorIs(t, err, errEnough)
			require.ErrorContains(t, err, path)
		}
	})
}
