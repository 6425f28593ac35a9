//go:build linux

package worker

import (
	"time"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/zklock"
)

const beliefEvery = 25 * time.Millisecond

// trusted is a Hold, or a Term.
type trusted interface {
	Remaining() time.Duration
	State() zklock.State
}

// believe tells every now and then how long what an attempt has got is trusted
// from then on, and returns what ends that.
func (p place) believe(attempt uint64, t trusted) (end func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(beliefEvery)
		defer ticker.Stop()
		for {
			// The clock first: a promise then seems to end early, never late.
			at := Now()
			if left := t.Remaining(); left > 0 {
				p.of(attempt, history.Event{At: at, Kind: history.Belief, Remaining: left, State: t.State().String()})
			}
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(done); <-ended }
}
