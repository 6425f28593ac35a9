package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Override puts to in place of what is remembered, the zero Stamp to begin anew, and
// keeps who did it and why in the same transaction: if that cannot be written,
// nothing is changed. It is the way out after an ensemble was rebuilt, with all
// owners stopped; see package fencing.
//
// The record must be one that fencing.Override.Validate takes. who is not verified.
// ErrUnknownOutcome says that the answer to the commit was lost: read Overrides.
func (g *Guard) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	if err := g.made(); err != nil {
		return err
	}
	return g.override(ctx, fencing.Override{Resource: resource, To: to, Who: who, Why: why}, memory{
		lock: func(ctx context.Context, tx *sql.Tx) (fencing.Stamp, error) {
			// A row to lock, if there is none.
			if _, err := g.lift(ctx, tx, resource, 0); err != nil {
				return fencing.Stamp{}, err
			}
			return g.look(ctx, tx, resource, true)
		},
		set: func(ctx context.Context, tx *sql.Tx) error {
			s := set(g.words, g.names, resource, int64(to.Token.Uint64()), int64(to.Seq))
			_, err := tx.ExecContext(ctx, s.text, s.args...)
			return err
		},
	})
}

// memory is what an override changes.
type memory struct {
	lock func(context.Context, *sql.Tx) (from fencing.Stamp, err error)
	set  func(context.Context, *sql.Tx) error
}

func (g *Guard) override(ctx context.Context, o fencing.Override, m memory) error {
	if err := o.Validate(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("sqlfence: override of %q: %w", o.Resource, fencing.Ended(ctx))
	}
	if o.To.Seq > math.MaxInt64 {
		return fmt.Errorf("sqlfence: override of %q to %s: the seq is above %d, which a BIGINT holds", o.Resource, o.To, int64(math.MaxInt64))
	}
	for try := 1; ; try++ {
		err := g.overrideOnce(ctx, o, m)
		if err == nil {
			return nil
		}
		if !g.again(ctx, try, err) {
			return fmt.Errorf("sqlfence: override of %q to %s: %w", o.Resource, o.To, err)
		}
	}
}

func (g *Guard) overrideOnce(ctx context.Context, o fencing.Override, m memory) error {
	conn, err := g.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, g.tx)
	if err != nil {
		return fmt.Errorf("beginning: %w", g.explain(ctx, err))
	}
	if err := g.overrideWithin(ctx, tx, o, m); err != nil {
		if tx.Rollback() != nil {
			drop(conn)
		}
		return g.explain(ctx, err)
	}
	if err := tx.Commit(); err != nil {
		drop(conn)
		if g.lost(err) {
			return fmt.Errorf("committing: %w, read Overrides to find out: %w", fencing.ErrUnknownOutcome, err)
		}
		return fmt.Errorf("committing: %w", explain(g.fault(err), err))
	}
	return nil
}

func (g *Guard) overrideWithin(ctx context.Context, tx *sql.Tx, o fencing.Override, m memory) error {
	from, err := m.lock(ctx, tx)
	if err != nil {
		return err
	}
	pair := func(s fencing.Stamp) [2]int64 { return [2]int64{int64(s.Token.Uint64()), int64(s.Seq)} }
	s := keepOverride(g.words, g.names, o.Resource, pair(from), pair(o.To), o.Who, o.Why)
	if _, err := tx.ExecContext(ctx, s.text, s.args...); err != nil {
		return fmt.Errorf("recording it: %w", err)
	}
	if err := m.set(ctx, tx); err != nil {
		return err
	}
	s = sealOverride(g.words, g.names, o.Resource)
	_, err = tx.ExecContext(ctx, s.text, s.args...)
	return err
}

// Overrides returns what was overridden at the resource, oldest first. When is by
// the database's clock.
func (g *Guard) Overrides(ctx context.Context, resource string) ([]fencing.Override, error) {
	if err := g.made(); err != nil {
		return nil, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return nil, err
	}
	all, err := g.overrides(ctx, resource)
	if err != nil {
		return nil, fmt.Errorf("sqlfence: overrides of %q: %w", resource, g.explain(ctx, err))
	}
	return all, nil
}

func (g *Guard) overrides(ctx context.Context, resource string) (all []fencing.Override, err error) {
	s := overrides(g.words, g.names, resource)
	rows, err := g.db.QueryContext(ctx, s.text, s.args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		o := fencing.Override{Resource: resource}
		var from, to int64
		var when string
		if err := rows.Scan(&o.From.Token, &from, &o.To.Token, &to, &o.Who, &o.Why, &when); err != nil {
			return nil, err
		}
		o.From.Seq, o.To.Seq = uint64(from), uint64(to)
		if o.When, err = time.Parse(time.RFC3339Nano, when); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, rows.Err()
}
