package zklock_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkfence/zkfence/fencing"
)

// guarded is the resource that a lock protects. It keeps every stamp that it has
// let in, in order, and with each looks whether that order ever went backwards.
type guarded struct {
	gate *fencing.Gate

	mu       sync.Mutex
	admitted []fencing.Stamp
	backward error
}

func newGuarded() *guarded {
	g := &guarded{gate: fencing.NewGate(fencing.Stamp{})}
	g.gate.Resource = "report"
	return g
}

// write is one command; the error is the gate's refusal.
func (g *guarded) write(ctx context.Context, s fencing.Stamp) error {
	return g.gate.Admit(ctx, s, func() error {
		g.mu.Lock()
		defer g.mu.Unlock()
		if n := len(g.admitted); n > 0 && s.Compare(g.admitted[n-1]) <= 0 && g.backward == nil {
			g.backward = fmt.Errorf("admitted %v after %v", s, g.admitted[n-1])
		}
		g.admitted = append(g.admitted, s)
		return nil
	})
}

// broken is the first breach of the invariant that everything else serves.
func (g *guarded) broken() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.backward
}
