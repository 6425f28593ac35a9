package lend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/zkfence/zkfence/integration/ensemble"
)

// closeAtSignal ends this process when somebody interrupts or terminates it, but
// first removes its containers: no test's Cleanup would run, and three servers would
// stay until the next run. A second signal ends it at once. It does so until stop is
// called.
func closeAtSignal(ctx context.Context) (stop func()) {
	signalled, restore := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	over := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-over:
			return
		case <-signalled.Done():
		}
		restore()
		fmt.Fprintln(os.Stderr, "interrupted: removing the containers")
		if err := ensemble.CloseAll(ctx); err != nil && !errors.Is(err, ensemble.ErrNoEngine) {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(130)
	})
	return func() {
		close(over)
		watch.Wait()
		restore()
	}
}
