package stage

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zkfence/zkfence/fencing"
)

// Ledger is the resource that a lock or a term protects. It keeps every stamp
// that it has let in, in order, and with each looks whether that order ever went
// backwards.
type Ledger struct {
	gate *fencing.Gate

	mu       sync.Mutex
	admitted []fencing.Stamp
	backward error
}

// NewLedger returns one that has let in nothing.
func NewLedger() *Ledger {
	l := &Ledger{gate: fencing.NewGate(fencing.Stamp{})}
	l.gate.Resource = "report"
	return l
}

// Write is one command; the error is the gate's refusal.
func (l *Ledger) Write(ctx context.Context, s fencing.Stamp) error {
	return l.gate.Admit(ctx, s, func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if n := len(l.admitted); n > 0 && s.Compare(l.admitted[n-1]) <= 0 && l.backward == nil {
			l.backward = fmt.Errorf("admitted %v after %v", s, l.admitted[n-1])
		}
		l.admitted = append(l.admitted, s)
		return nil
	})
}

// Raise is a new owner who has nothing to write yet; the error is the gate's refusal.
func (l *Ledger) Raise(t fencing.Token) error { return l.gate.Raise(t) }

// Broken is the first breach of the invariant that everything else serves.
func (l *Ledger) Broken() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.backward
}

// Admitted is what has been let in, oldest first.
func (l *Ledger) Admitted() []fencing.Stamp {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.admitted)
}
