// Package flock has the one lock between processes that the kernel drops when a
// process dies, whatever it was doing.
package flock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/zkfence/zkfence/fencing/internal/pause"
)

// Wait locks f, until ctx ends. Closing f gives the lock up.
func Wait(ctx context.Context, f *os.File) error {
	for {
		if ok, err := Try(f); ok || err != nil {
			return err
		}
		// Waiting in the kernel could not be ended with ctx.
		if err := pause.For(ctx, 500*time.Microsecond+rand.N(4*time.Millisecond)); err != nil {
			return fmt.Errorf("another process has it: %w", err)
		}
	}
}

// Check returns an error matching errors.ErrUnsupported where there is no flock.
func Check() error {
	if !supported {
		return fmt.Errorf("no flock on this system: %w", errors.ErrUnsupported)
	}
	return nil
}
