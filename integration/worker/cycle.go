//go:build linux

package worker

import (
	"context"
	"fmt"
	"time"
)

// cycle holds again and again. A loss, a refusal and a lock that was not granted
// are part of the story, and the history's to judge.
func (w *worker) cycle(ctx context.Context) (n int, err error) {
	for !w.halt.Load() {
		if w.lock(ctx) != nil {
			continue
		}
		for i, call := range []string{Raise, Read, Write, Write} {
			a, err := w.command(ctx, call, fmt.Sprintf("%s %d.%d", w.Name, w.attempt, i))
			if err != nil {
				return n, err
			}
			if !a.OK {
				break
			}
			w.dwell(ctx)
		}
		// What this returns after a loss is that loss, which the trace tells.
		_ = w.unlock(ctx)
		n++
	}
	return n, nil
}

func (w *worker) dwell(ctx context.Context) {
	if w.Dwell <= 0 {
		return
	}
	timer := time.NewTimer(w.Dwell)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
