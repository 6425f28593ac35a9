package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// Rows is a table each row of which carries its own fence, so that one statement is
// a whole guarded command:
//
//	UPDATE reports SET body = $1, token = $2, seq = $3
//	 WHERE name = $4 AND (token, seq) < ($5, $6)
//
// Both columns are BIGINT NOT NULL DEFAULT 0. As a Fenced table it gets a trigger
// that refuses every change of a row by which its Stamp does not grow, rows that come
// without a token, and every DELETE: with the row goes its floor, so keep it and
// mark it as gone. The trigger lets FencedRows.Override through.
type Rows struct {
	Table string // as the database keeps it; a schema and a dot may stand before it
	Key   string // the column that is unique to a row
	Token string // Defaults to "token".
	Seq   string // Defaults to "seq".
}

func (r Rows) valid() (Rows, error) {
	if r.Token == "" {
		r.Token = "token"
	}
	if r.Seq == "" {
		r.Seq = "seq"
	}
	err := validName("table", r.Table, 120, true)
	for _, column := range [][2]string{{"key column", r.Key}, {"token column", r.Token}, {"seq column", r.Seq}} {
		if err == nil {
			err = validName(column[0], column[1], 63, false)
		}
	}
	return r, err
}

func (r Rows) statements(w words, n names) ([]string, error) {
	r, err := r.valid()
	if err != nil {
		return nil, err
	}
	return w.fencedRows(n, r)
}

// FencedRows helps with statements on a table that carries its own fence. Each is
// atomic by itself: at READ COMMITTED an UPDATE judges its WHERE again on the newest
// version of the row, at the stricter levels it fails and is tried again.
//
// A row's resource, in errors and records, is the table's name, a slash and the key.
//
// Make it with Guard.Rows. The zero FencedRows refuses everything, and its Set and
// Where are text that no database takes.
type FencedRows struct {
	g *Guard
	r Rows
}

// Rows returns the helpers for a table. The guard's own tables are needed for
// Override alone.
func (g *Guard) Rows(r Rows) (*FencedRows, error) {
	if err := g.made(); err != nil {
		return nil, err
	}
	r, err := r.valid()
	if err != nil {
		return nil, err
	}
	return &FencedRows{g, r}, nil
}

// Set returns the assignments, for the SET of an UPDATE: token, then seq, as the
// placeholders number n and n+1, where the database numbers them.
func (f *FencedRows) Set(n int) string {
	if err := f.made(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s = %s, %s = %s", f.quote(f.r.Token), f.g.words.placeholder(n), f.quote(f.r.Seq), f.g.words.placeholder(n+1))
}

// Where returns the condition, for the WHERE behind an AND: true of a row that the
// command may change. The placeholders are token, then seq, number n and n+1.
func (f *FencedRows) Where(n int) string {
	if err := f.made(); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("(%s, %s) < (%s, %s)", f.quote(f.r.Token), f.quote(f.r.Seq), f.g.words.placeholder(n), f.g.words.placeholder(n+1))
}

// Args are the two values of Set, and again those of Where.
func (f *FencedRows) Args(s fencing.Stamp) []any {
	return []any{int64(s.Token.Uint64()), int64(s.Seq)}
}

func (f *FencedRows) made() error {
	if f == nil || f.g == nil {
		return errRowsNotMade
	}
	return nil
}

func (f *FencedRows) quote(column string) string { return f.g.words.quote(column) }

func (f *FencedRows) resource(key any) string { return fmt.Sprintf("%s/%v", f.r.Table, key) }

// Exec runs one statement that has Set and Where in it, for the row with this key,
// and says why it has changed none by looking at the row:
//
//   - fencing.ErrStale, ErrDuplicate, ErrSuperseded: the fence refuses it, with both
//     Stamps in a *fencing.StaleError;
//   - ErrNotMatched: the fence would have let it through, and another condition of
//     the statement did not hold, such as the version that was expected;
//   - ErrNoRow: there is no such row.
//
// fencing.ErrUnknownOutcome, and what is retried, are as with Guard.Do. Whenever the
// statement changes nothing and its token is newer, the row's floor is raised, also
// where its Seq alone is refused; an error then matches ErrFloor if that failed.
func (f *FencedRows) Exec(ctx context.Context, key any, s fencing.Stamp, query string, args ...any) error {
	if err := f.made(); err != nil {
		return err
	}
	resource := f.resource(key)
	if ctx.Err() != nil {
		return about(resource, s, fencing.Ended(ctx))
	}
	if err := badStamp(resource, s); errors.Is(err, fencing.ErrZeroToken) {
		return err
	} else if err != nil {
		return seen(err, func() error { return f.floorOf(ctx, key, s) })
	}
	for try := 1; ; try++ {
		err := f.once(ctx, key, s, query, args)
		if err == nil || !f.g.again(ctx, try, err) {
			return f.settle(ctx, key, s, err)
		}
	}
}

// settle raises the floor after a failure, and names what it was of.
func (f *FencedRows) settle(ctx context.Context, key any, s fencing.Stamp, err error) error {
	var refused *refusal
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return fencing.Named(f.resource(key), refused.why)
	case errors.Is(err, ErrNoRow):
		return about(f.resource(key), s, err)
	}
	floor := f.floorOf(ctx, key, s)
	if errors.Is(floor, fencing.ErrStale) {
		floor = nil // it is higher
	}
	return unfloored(about(f.resource(key), s, err), floor)
}

// floorOf is Guard.floorOf.
func (f *FencedRows) floorOf(ctx context.Context, key any, s fencing.Stamp) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), floorTime)
	defer cancel()
	return f.raises(ctx, key, s)
}

func (f *FencedRows) once(ctx context.Context, key any, s fencing.Stamp, query string, args []any) error {
	conn, err := f.g.db.Conn(ctx) // nothing has been sent if this fails
	if err != nil {
		return fmt.Errorf("connecting: %w", err)
	}
	defer conn.Close()
	r, err := conn.ExecContext(ctx, query, args...)
	if err != nil {
		if f.g.fault(err) == Unknown {
			return fmt.Errorf("%w, send it again with this stamp to find out: %w", fencing.ErrUnknownOutcome, err)
		}
		return err
	}
	// The Stamp grows, so that a row that was met was changed, for every driver.
	if n, err := r.RowsAffected(); err != nil || n > 0 {
		return err
	}
	last, err := f.look(ctx, conn, key, false)
	if err != nil {
		return err
	}
	if _, err := fencing.Check(last, s); err != nil {
		return &refusal{err}
	}
	return ErrNotMatched
}

// look is scanStamp, but no row is an error here.
func (f *FencedRows) look(ctx context.Context, q queryer, key any, lock bool) (last fencing.Stamp, err error) {
	query := fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s = %s", f.quote(f.r.Token), f.quote(f.r.Seq), f.quote(f.r.Table), f.quote(f.r.Key), f.g.words.placeholder(1))
	if lock {
		query += f.g.words.forUpdate()
	}
	var seq int64
	switch err := q.QueryRowContext(ctx, query, key).Scan(&last.Token, &seq); {
	case errors.Is(err, sql.ErrNoRows):
		return fencing.Stamp{}, ErrNoRow
	case err != nil:
		return fencing.Stamp{}, err
	case seq < 0:
		return fencing.Stamp{}, fmt.Errorf("sqlfence: %s has the negative %s %d: somebody has written it by hand", f.resource(key), f.r.Seq, seq)
	}
	last.Seq = uint64(seq)
	return last, nil
}

// Last returns the Stamp that the row carries; an error matching ErrNoRow if there
// is no row.
func (f *FencedRows) Last(ctx context.Context, key any) (fencing.Stamp, error) {
	if err := f.made(); err != nil {
		return fencing.Stamp{}, err
	}
	last, err := f.look(ctx, f.g.db, key, false)
	if err != nil {
		return fencing.Stamp{}, fmt.Errorf("sqlfence: resource %q: %w", f.resource(key), err)
	}
	return last, nil
}

// Raise is Guard.Raise for one row. It makes no row: ErrNoRow says that nothing is
// protected yet.
func (f *FencedRows) Raise(ctx context.Context, key any, t fencing.Token) error {
	if err := f.made(); err != nil {
		return err
	}
	if _, err := fencing.CheckRaise(fencing.Stamp{}, t); err != nil {
		return fencing.Named(f.resource(key), err)
	}
	return f.raises(ctx, key, fencing.Stamp{Token: t})
}

// raises raises the floor to s's token. The refusal names s.
func (f *FencedRows) raises(ctx context.Context, key any, s fencing.Stamp) error {
	for try := 1; ; try++ {
		err := f.raise(ctx, key, s)
		var refused *refusal
		switch {
		case err == nil:
			return nil
		case errors.As(err, &refused):
			return fencing.Named(f.resource(key), refused.why)
		case !f.g.again(ctx, try, err):
			return about(f.resource(key), s, fmt.Errorf("raising the floor: %w", err))
		}
	}
}

func (f *FencedRows) raise(ctx context.Context, key any, s fencing.Stamp) error {
	w := f.g.words
	token := int64(s.Token.Uint64())
	query := fmt.Sprintf("UPDATE %s SET %s = 0, %s = %s WHERE %s = %s AND %s < %s", f.quote(f.r.Table), f.quote(f.r.Seq),
		f.quote(f.r.Token), w.placeholder(1), f.quote(f.r.Key), w.placeholder(2), f.quote(f.r.Token), w.placeholder(3))
	r, err := f.g.db.ExecContext(ctx, query, token, key, token)
	if err != nil {
		return err
	}
	if n, err := r.RowsAffected(); err != nil || n > 0 {
		return err
	}
	// With the lock: a row that the condition passed over was not waited for, and a
	// command under way may be in it.
	last, err := f.look(ctx, f.g.db, key, true)
	if err != nil {
		return err
	}
	floor, err := fencing.CheckRaise(last, s.Token)
	switch {
	case err != nil:
		return &refusal{&fencing.StaleError{Presented: s, Highest: last}}
	case floor != last:
		return errMoved
	}
	return nil
}

// Override is Guard.Override for one row; its records are Guard.Overrides of the
// row's resource. It makes no row.
func (f *FencedRows) Override(ctx context.Context, key any, to fencing.Stamp, who, why string) error {
	if err := f.made(); err != nil {
		return err
	}
	return f.g.override(ctx, fencing.Override{Resource: f.resource(key), To: to, Who: who, Why: why}, memory{
		lock: func(ctx context.Context, tx *sql.Tx) (fencing.Stamp, error) { return f.look(ctx, tx, key, true) },
		set: func(ctx context.Context, tx *sql.Tx) error {
			query := fmt.Sprintf("UPDATE %s SET %s WHERE %s = %s", f.quote(f.r.Table), f.Set(1), f.quote(f.r.Key), f.g.words.placeholder(3))
			_, err := tx.ExecContext(ctx, query, append(f.Args(to), key)...)
			return err
		},
	})
}
