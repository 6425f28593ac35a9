package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// MaxOutcome is how long the outcome of an operation can be, in bytes.
const MaxOutcome = 1 << 16

// DoOnce is Do for an operation that must not be applied twice under any token: a
// Seq tells the repetitions of one owner alone, and the next owner that repeats
// what the last one did would do it again. op names the operation at this resource,
// see fencing.ValidateOpID. It is recorded in fn's transaction, with the outcome
// that fn returns, of at most MaxOutcome bytes.
//
// Where it is recorded already, fn does not run and the recorded outcome is returned
// with nil, whichever Token s carries, an old one too; a newer one raises the
// floor. It costs two more round trips than Do.
//
// Records stay until Forget.
func (g *Guard) DoOnce(ctx context.Context, resource string, s fencing.Stamp, op string, fn func(tx *sql.Tx) (outcome string, err error)) (outcome string, err error) {
	if fn == nil {
		return "", errNoFunction
	}
	if err := fencing.ValidateOpID(op); err != nil {
		return "", err
	}
	c := &command{guard: g, resource: resource, stamp: s, op: op, run: fn}
	return c.do(ctx)
}

// recorded looks for an operation. The caller's transaction has the resource's row,
// so that nobody can record it meanwhile.
func (g *Guard) recorded(ctx context.Context, tx *sql.Tx, resource, op string) (outcome string, known bool, err error) {
	s := operation(g.words, g.names, resource, op)
	var bytes []byte
	switch err := tx.QueryRowContext(ctx, s.text, s.args...).Scan(&bytes); {
	case errors.Is(err, sql.ErrNoRows):
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	return string(bytes), true, nil
}

func (g *Guard) record(ctx context.Context, tx *sql.Tx, c *command, outcome string) error {
	if len(outcome) > MaxOutcome {
		return fmt.Errorf("its outcome has %d bytes, want at most %d", len(outcome), MaxOutcome)
	}
	s := keepOperation(g.words, g.names, c.resource, c.op, int64(c.stamp.Token.Uint64()), int64(c.stamp.Seq), outcome)
	_, err := tx.ExecContext(ctx, s.text, s.args...)
	return err
}

// Forget deletes the records of operations that were done longer ago than age, by
// the database's clock, in whole seconds, and returns how many. A repetition that
// comes later than that is applied again.
func (g *Guard) Forget(ctx context.Context, age time.Duration) (int64, error) {
	if err := g.made(); err != nil {
		return 0, err
	}
	if age < 0 {
		return 0, fmt.Errorf("sqlfence: Forget(%s): want an age of 0 or more", age)
	}
	// Rounded up behind the division: to add first goes over the end of the longest age,
	// to a negative one, and what is "older" than a time to come is every record.
	seconds := int64(age / time.Second)
	if age%time.Second > 0 {
		seconds++
	}
	s := forget(g.words, g.names, seconds)
	r, err := g.db.ExecContext(ctx, s.text, s.args...)
	if err != nil {
		return 0, fmt.Errorf("sqlfence: forgetting operations: %w", g.explain(ctx, err))
	}
	return r.RowsAffected()
}
