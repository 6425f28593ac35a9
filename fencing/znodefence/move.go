package znodefence

import (
	"context"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/pause"
	"github.com/zkfence/zkfence/zkconn"
)

// Raise refuses everything older than t from its return on, whatever older is
// under way among it. It is what a new owner does before it reads. Its errors are
// as those of Do; after one matching fencing.ErrUnknownOutcome raise it again.
func (g *Guard) Raise(ctx context.Context, resource string, t fencing.Token) error {
	return g.move(ctx, resource, change{
		what: "raise to " + t.String(),
		to: func(m memory) (memory, error) {
			floor, err := fencing.CheckRaise(m.Last, t)
			return m.with(floor), fencing.Named(resource, err)
		},
	})
}

// change is one of a memory that is no command's.
type change struct {
	what string
	to   func(memory) (memory, error) // its error is the answer
	// done reports whether an earlier try of it was applied, where the memory alone
	// cannot tell. Nil: it can.
	done func(*zkconn.Session, memory) (bool, error)
}

func (g *Guard) move(ctx context.Context, resource string, c change) error {
	if err := g.made(); err != nil {
		return err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	t := &try{g: g, c: Command{Resource: resource}, what: c.what}
	for n := range maxTries {
		if pause.For(ctx, t.wait(n)) != nil {
			return t.gaveUp(ended(ctx))
		}
		if done, err := t.move(ctx, c); done {
			return err
		}
	}
	return t.ranOut()
}

// move is done when there is an answer.
//
// Who looks whether a lost try was applied has read the memory before: if it lands
// after the look, then the memory has moved from under what is sent next.
func (t *try) move(ctx context.Context, c change) (done bool, err error) {
	s, err := t.g.session(ctx)
	if err != nil {
		return true, t.gaveUp(err)
	}
	m, err := t.g.read(ctx, s, t.c.Resource)
	if err != nil {
		return t.retry(ctx, err)
	}
	if t.lost != nil && c.done != nil {
		if found, err := c.done(s, m); err != nil {
			return t.retry(ctx, err)
		} else if found {
			return true, nil
		}
	}
	next, err := c.to(m)
	if err != nil {
		return true, err
	}
	if next.Last == m.Last && next.override == nil {
		return true, nil
	}
	_, lost, err := t.g.set(ctx, s, next)
	if err == nil {
		return true, nil
	}
	if lost {
		t.lost = err
	}
	return t.retry(ctx, err)
}
