package sqlfence

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"math"

	"github.com/zkfence/zkfence/fencing"
)

// Do runs fn in a transaction if s may act on the resource, and commits it together
// with s. fn writes through tx and nothing else, may run several times, returns the
// errors of its statements, and neither ends the transaction nor changes tables:
// MySQL commits before it does that. It must not call this Guard, which would wait
// for itself.
//
// The error is nil once both are committed. Else it matches
//
//   - fencing.ErrStale, ErrDuplicate or ErrSuperseded (a *fencing.StaleError with
//     the resource and both Stamps), fencing.ErrZeroToken, ErrZeroSeq or
//     ErrBadResource: refused, fn has not run, or what it did was rolled back;
//   - fencing.ErrUnknownOutcome: the answer to the commit was lost, or fn has called
//     tx.Commit or tx.Rollback. Do with the same Stamp, before any later one, finds out: nil
//     or ErrDuplicate means that it is applied;
//   - ErrNoTable, ErrReadOnly, ErrFull, fn's own error, or the driver's: the command
//     was rolled back, unless fn has ended the transaction, and s.Seq does not count. The floor is raised all the same,
//     in a transaction of its own and before Do returns, also where ctx has ended,
//     for at most ten seconds; the error matches ErrFloor as well if that failed.
//
// A deadlock or a failed serialization runs fn again, with the same Stamp, as often
// as WithTries says. A ctx that has ended before Do runs nothing and raises nothing;
// one that ends before the commit is a failure of the command. During the commit the
// driver decides: go-sql-driver/mysql waits for as long as its readTimeout says,
// which by default is for ever.
//
// If fn panics, the transaction is rolled back, the floor raised, and the panic
// goes on. A Seq above math.MaxInt64 does not fit a BIGINT and is an error;
// the floor is raised all the same, as for Seq 0.
//
// A function that ends the transaction by a statement, COMMIT or ROLLBACK, is found out
// in SQLite if it then returns nil: ErrUnknownOutcome after a COMMIT, an error that
// says so after a ROLLBACK. Else nobody sees it, and neither an error nor nil says
// anything: what it writes behind its own ROLLBACK is kept without a fence, and the
// newer Token is not remembered.
//
// In MySQL a function that changes a table opens the way through the triggers for
// everybody, from then to the end of Do, or to the next Raise if the process ends
// before that.
//
// In MySQL a deadlock ends the transaction, and a function that goes on after it
// writes without one. So return each error; WithTriggers finds it too.
func (g *Guard) Do(ctx context.Context, resource string, s fencing.Stamp, fn func(tx *sql.Tx) error) error {
	if fn == nil {
		return errNoFunction
	}
	c := &command{guard: g, resource: resource, stamp: s, run: func(tx *sql.Tx) (string, error) { return "", fn(tx) }}
	_, err := c.do(ctx)
	return err
}

// command is one call of Do or DoOnce.
type command struct {
	guard    *Guard
	resource string
	stamp    fencing.Stamp
	op       string // "": none
	run      func(tx *sql.Tx) (outcome string, err error)
}

func (c *command) do(ctx context.Context) (outcome string, err error) {
	g := c.guard
	if err := c.valid(ctx); err != nil {
		return "", err
	}
	// Whatever ends the command but success and a refusal: the token was presented,
	// and nothing older may come after it. fn can panic, or end its goroutine.
	settled := false
	defer func() {
		if !settled {
			floor := g.floor(ctx, c.resource, c.stamp.Token)
			err = unfloored(err, floor)
			if floor != nil {
				outcome = ""
			}
		}
	}()
	for try := 1; ; try++ {
		outcome, err = c.attempt(ctx)
		switch {
		case err == nil:
			settled = true
			return outcome, nil
		case errors.Is(err, errKnown):
			return outcome, nil // and the floor is raised
		}
		var refused *refusal
		if errors.As(err, &refused) {
			settled = true
			return "", fencing.Named(c.resource, refused.why)
		}
		if !g.again(ctx, try, err) {
			return "", about(c.resource, c.stamp, err)
		}
	}
}

// valid refuses what no memory would let through.
func (c *command) valid(ctx context.Context) error {
	if err := c.guard.made(); err != nil {
		return err
	}
	if err := fencing.ValidateResource(c.resource); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return about(c.resource, c.stamp, fencing.Ended(ctx))
	}
	err := badStamp(c.resource, c.stamp)
	if err == nil || errors.Is(err, fencing.ErrZeroToken) {
		return err
	}
	return seen(err, func() error { return c.guard.floorOf(ctx, c.resource, c.stamp) })
}

// badStamp is about a Stamp that cannot be remembered, whatever is remembered now.
func badStamp(resource string, s fencing.Stamp) error {
	if _, err := fencing.Check(fencing.Stamp{}, s); err != nil {
		return fencing.Named(resource, err)
	}
	if s.Seq > math.MaxInt64 {
		return about(resource, s, fmt.Errorf("seq %d is above %d, which a BIGINT holds: begin at 1 with a newer token", s.Seq, int64(math.MaxInt64)))
	}
	return nil
}

// seen has the floor raised for a command that its Seq alone refuses: its token was
// presented, and without the floor an older owner's late command would be let in. An
// older token is told so, as if its Seq were in order.
func seen(err error, floor func() error) error {
	failed := floor()
	if errors.Is(failed, fencing.ErrStale) {
		return failed
	}
	return unfloored(err, failed)
}

// refusal is an error that was the guard's answer, and not a failure.
type refusal struct{ why error }

func (r *refusal) Error() string { return r.why.Error() }

// errKnown: the operation was recorded before.
var errKnown = errors.New("sqlfence: the operation is recorded")

// attempt is one transaction. It takes a connection by itself, because one whose
// COMMIT or ROLLBACK has failed may be in a transaction still: whoever got it next
// from the pool could commit what we call undone.
func (c *command) attempt(ctx context.Context) (outcome string, err error) {
	g := c.guard
	conn, err := g.db.Conn(ctx)
	if err != nil {
		return "", fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(ctx, g.tx)
	if err != nil {
		return "", fmt.Errorf("beginning: %w", g.explain(ctx, err))
	}
	commits := false
	defer func() {
		if commits {
			return
		}
		switch failed := tx.Rollback(); {
		case failed == nil:
		case errors.Is(failed, sql.ErrTxDone) && ctx.Err() == nil:
			err = fmt.Errorf("the function has ended the transaction by itself: %w: %w", fencing.ErrUnknownOutcome, err)
		default:
			drop(conn)
		}
	}()
	if outcome, err = c.within(ctx, tx); err != nil {
		var refused *refusal
		if cause := fencing.Ended(ctx); cause != nil && !errors.Is(err, cause) && !errors.Is(err, errKnown) && !errors.As(err, &refused) {
			err = fmt.Errorf("%w: %w", cause, err) // which the driver does not know
		}
		return outcome, err
	}
	if ctx.Err() != nil {
		return "", fencing.Ended(ctx)
	}
	commits = true
	if err := tx.Commit(); err != nil {
		drop(conn)
		if g.lost(err) {
			return "", fmt.Errorf("committing: %w, send it again with this stamp to find out: %w", fencing.ErrUnknownOutcome, err)
		}
		return "", fmt.Errorf("committing: %w", explain(g.fault(err), err))
	}
	return outcome, nil
}

// within is what happens in the transaction: the upsert first, for what would go
// wrong otherwise see there.
func (c *command) within(ctx context.Context, tx *sql.Tx) (outcome string, err error) {
	g := c.guard
	s := g.words.judge(g.names, c.resource, int64(c.stamp.Token.Uint64()), int64(c.stamp.Seq), g.triggers)
	admitted, err := g.upsert(ctx, tx, s)
	if err != nil {
		return "", fmt.Errorf("asking the guard: %w", g.explain(ctx, err))
	}
	if c.op != "" {
		outcome, known, err := g.recorded(ctx, tx, c.resource, c.op)
		if err != nil {
			return "", fmt.Errorf("looking for operation %q: %w", c.op, g.explain(ctx, err))
		}
		if known {
			return outcome, errKnown
		}
	}
	if !admitted {
		last, err := g.look(ctx, tx, c.resource, true)
		if err != nil {
			return "", fmt.Errorf("looking why it was refused: %w", err)
		}
		if _, err = fencing.Check(last, c.stamp); err == nil {
			return "", errMoved
		}
		return "", &refusal{err}
	}
	if outcome, err = c.run(tx); err != nil {
		if fault := g.fault(err); fault == Full || fault == ReadOnly { // a missing table may be the function's own
			err = explain(fault, err)
		}
		return "", err
	}
	if c.op != "" {
		if err := g.record(ctx, tx, c, outcome); err != nil {
			return "", fmt.Errorf("recording operation %q: %w", c.op, g.explain(ctx, err))
		}
	}
	return outcome, c.seal(ctx, tx)
}

func (c *command) seal(ctx context.Context, tx *sql.Tx) error {
	g := c.guard
	if !g.words.seals(g.triggers) {
		return nil
	}
	s := g.words.seal(g.names, c.resource, int64(c.stamp.Token.Uint64()), int64(c.stamp.Seq))
	r, err := tx.ExecContext(ctx, s.text, s.args...)
	if err != nil {
		return fmt.Errorf("closing the fence: %w", g.explain(ctx, err))
	}
	open, err := oneRow(r)
	if err == nil && !open {
		err = errRolledBack
	}
	return err
}

func (g *Guard) upsert(ctx context.Context, q queryer, s statement) (bool, error) {
	r, err := q.ExecContext(ctx, s.text, s.args...)
	if err != nil {
		return false, err
	}
	return g.words.passed(r)
}

// drop closes a connection instead of giving it back.
func drop(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which is how it is said
}
