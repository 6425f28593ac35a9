// Package pause waits between two tries.
package pause

import (
	"context"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// For waits for d. An error is why ctx has ended, also where it had before.
func For(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return fencing.Ended(ctx)
	}
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fencing.Ended(ctx)
	}
}
