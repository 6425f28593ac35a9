package sqlfence

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// Raise makes the guard refuse everything older than t at this resource, from its
// return on: it waits for commands under way. A new owner calls it before it reads
// what its writes will build on.
//
// A t that is known already changes nothing and is no error. An older one is refused
// with a *fencing.StaleError matching fencing.ErrStale, the zero Token with
// fencing.ErrZeroToken. Other errors are the database's; call it again, it can be
// repeated.
func (g *Guard) Raise(ctx context.Context, resource string, t fencing.Token) error {
	if err := g.made(); err != nil {
		return err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return about(resource, fencing.Stamp{Token: t}, fencing.Ended(ctx))
	}
	if _, err := fencing.CheckRaise(fencing.Stamp{}, t); err != nil {
		return fencing.Named(resource, err)
	}
	return g.raise(ctx, resource, fencing.Stamp{Token: t})
}

// raise raises the floor to s's token. The refusal names s.
func (g *Guard) raise(ctx context.Context, resource string, s fencing.Stamp) error {
	for try := 1; ; try++ {
		err := g.raiseOnce(ctx, resource, s)
		var stale *fencing.StaleError
		if err == nil || errors.As(err, &stale) {
			return err
		}
		if !g.again(ctx, try, err) {
			return about(resource, s, fmt.Errorf("raising the floor: %w", err))
		}
	}
}

func (g *Guard) raiseOnce(ctx context.Context, resource string, s fencing.Stamp) error {
	raised, err := g.lift(ctx, g.db, resource, int64(s.Token.Uint64()))
	if err != nil {
		return g.explain(ctx, err)
	}
	if raised {
		return nil
	}
	last, err := g.look(ctx, g.db, resource, false)
	if err != nil {
		return err
	}
	floor, err := fencing.CheckRaise(last, s.Token)
	switch {
	case err != nil:
		return &fencing.StaleError{Resource: resource, Presented: s, Highest: last}
	case floor != last:
		return errMoved // an override came between
	}
	return nil
}

// lift is the upsert of a raise, and closes the fence for a trigger.
//
// Invariant: no mark of a command under way is committed, for to a trigger it is the
// pass of every transaction. What breaks it is a function that commits:
//
//	A        upsert: writing = 1; CREATE TABLE, which commits in MySQL; fails
//	A        ROLLBACK, of nothing; raise: the token is known, nothing to change
//	script   UPDATE: writing = 1, let through, today and for ever
//
// Whoever has the row's lock sees no mark of another open transaction, so one that is
// there is such a leftover, and is taken away whatever becomes of the raise.
func (g *Guard) lift(ctx context.Context, q queryer, resource string, token int64) (raised bool, err error) {
	raised, err = g.upsert(ctx, q, g.words.raise(g.names, resource, token))
	if err != nil || raised {
		return raised, err
	}
	if s := g.words.unmark(g.names, resource); s.text != "" {
		_, err = q.ExecContext(ctx, s.text, s.args...)
	}
	return false, err
}

// floor raises the floor after a command has failed. The command's context may have
// ended, and its connection been lost; both are no reason to let an older owner in.
func (g *Guard) floor(ctx context.Context, resource string, t fencing.Token) error {
	err := g.floorOf(ctx, resource, fencing.Stamp{Token: t})
	if errors.Is(err, fencing.ErrStale) {
		return nil // it is higher
	}
	return err
}

// floorOf is floor, but a higher one is an error.
func (g *Guard) floorOf(ctx context.Context, resource string, s fencing.Stamp) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), floorTime)
	defer cancel()
	return g.raise(ctx, resource, s)
}
