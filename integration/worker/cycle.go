//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// cycle holds again and again. A loss, a refusal and a lock that was not granted
// are part of the story, and the history's to judge. A wait that does not end is no
// part of any: tried anew it would look like a failed attempt and a late grant, and
// hide a waiter whom nobody wakes.
func (w *worker) cycle(ctx context.Context) (n int, err error) {
	for !w.halt.Load() {
		if err := w.lock(ctx); errors.Is(err, errWaitsOn) {
			return n, err
		} else if err != nil {
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
			wait(ctx, w.Dwell)
		}
		// What this returns after a loss is that loss, which the trace tells.
		_ = w.unlock(ctx)
		n++
	}
	return n, nil
}

// wait lasts d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
