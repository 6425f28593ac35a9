package fencing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Gate is Check with a memory, for a resource that lives in this process: a
// file, a map, a device. It lets one command at a time through, so that judging,
// running and remembering are one step.
//
// Its memory ends with the process. A resource that outlives it must keep the
// highest Stamp with its data, in the same transaction, and is better served by
// a guard that does; NewGate takes a memory that was kept.
//
// Make a Gate with NewGate; the zero Gate refuses everything.
type Gate struct {
	// Resource names what the Gate protects, in errors and in the records of its
	// Overrides. Set it before the Gate is first used. Defaults to no name.
	Resource string

	// A channel and not a mutex: whoever queues for a slow command must be able
	// to leave when its context ends.
	turn chan struct{}
	// Written by whoever has the turn; read by Last and Overrides at any time.
	last      atomic.Pointer[Stamp]
	overrides atomic.Pointer[[]Override] // never written in place
}

var (
	errZeroGate = errors.New("fencing: gate was not made by NewGate")
	errNilFunc  = errors.New("fencing: Admit was given no function")
)

// NewGate returns a Gate that remembers last, as Last returned it; the zero
// Stamp if the resource is new and has admitted nothing.
func NewGate(last Stamp) *Gate {
	g := &Gate{turn: make(chan struct{}, 1)}
	g.last.Store(&last)
	return g
}

// Admit runs fn if s may act, waiting its turn behind commands and Raises that
// came before, and returns fn's error as it is. It is safe for concurrent use.
//
// It returns a *StaleError, or an error matching ErrZeroToken or ErrZeroSeq,
// without running fn when the command is refused. ctx bounds the wait for the
// turn alone: if it ends first the error is its cause, fn did not run, and the
// Gate has not looked at s. A newer Token is remembered before fn runs and
// stays remembered; s.Seq is remembered only if fn returns nil. If fn panics the
// turn is given up, Seq does not count, and the panic goes on.
//
// When fn returns an error although it took effect, the caller's retry with the
// same Stamp runs again: fn must be safe to repeat, or say nil.
//
// fn must not call Admit or Raise on the same Gate: it would wait for itself.
// A fn that never returns keeps everybody out.
func (g *Gate) Admit(ctx context.Context, s Stamp, fn func() error) error {
	if fn == nil {
		return errNilFunc
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	floor, err := Check(g.Last(), s)
	g.last.Store(&floor)
	if err != nil {
		return Named(g.Resource, err)
	}
	if err := fn(); err != nil {
		return err
	}
	g.last.Store(&s)
	return nil
}

// Raise makes the Gate refuse everything older than t, from its return on. A new
// owner calls it before it reads the state that its writes will build on: what
// an older owner has in flight is then either in what it reads, or refused.
// Raise therefore waits until a running command has ended, however long that
// takes.
//
// A t that the Gate knows already changes nothing and is no error. An older one
// is refused with a *StaleError matching ErrStale, the zero Token with an error
// matching ErrZeroToken.
func (g *Gate) Raise(t Token) error {
	if err := g.enter(context.Background()); err != nil { // never ends: Raise is over when it holds
		return err
	}
	defer g.leave()
	floor, err := CheckRaise(g.Last(), t)
	g.last.Store(&floor)
	return Named(g.Resource, err)
}

// Override puts to in place of what the Gate remembers, after an ensemble was rebuilt
// and with all owners stopped, and keeps the record of it, which Overrides returns as
// long as the process lives: log it too. It waits for a running command. The Gate
// needs the name of its Resource; see [Override.Validate] for who and why. ctx bounds
// the wait; after an error nothing has changed.
func (g *Gate) Override(ctx context.Context, to Stamp, who, why string) error {
	o := Override{Resource: g.Resource, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	o.From = g.Last()
	all := append(g.Overrides(), o)
	g.overrides.Store(&all)
	g.last.Store(&to)
	return nil
}

// Overrides returns the records of all Overrides of this Gate, oldest first.
func (g *Gate) Overrides() []Override {
	if all := g.overrides.Load(); all != nil {
		return slices.Clone(*all)
	}
	return nil
}

// Last returns what the Gate remembers: the Stamp of the last command that
// succeeded, or the newest Token seen, with Seq 0, if none of its commands has.
// It does not wait, and while a command runs it does not count that one yet.
func (g *Gate) Last() Stamp {
	if last := g.last.Load(); last != nil {
		return *last
	}
	return Stamp{}
}

func (g *Gate) enter(ctx context.Context) error {
	if g.turn == nil {
		return errZeroGate
	}
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return g.gaveUp(ctx)
	}
	// With both ready, select tosses a coin: a command whose ctx has ended must
	// not run half of the time.
	if ctx.Err() != nil {
		g.leave()
		return g.gaveUp(ctx)
	}
	return nil
}

func (g *Gate) leave() { <-g.turn }

func (g *Gate) gaveUp(ctx context.Context) error {
	return Named(g.Resource, fmt.Errorf("fencing: waiting for the gate: %w", Ended(ctx)))
}
