package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

const (
	// floorTime bounds raising the floor after a command has failed: the command's
	// own context may have ended.
	floorTime = 10 * time.Second
	// longestPause is between two tries of a command in conflict with others.
	longestPause = 200 * time.Millisecond
)

// Guard keeps one Stamp for each resource name in a table, and moves it in the
// transaction of the command. It has no memory of its own: any number of Guards in
// any number of processes are one. Safe for concurrent use. Make it with New; the zero
// Guard refuses everything.
type Guard struct {
	db       *sql.DB
	words    words
	fault    func(error) Fault
	names    names
	tries    int
	tx       *sql.TxOptions
	triggers bool
}

// Option is an option of New.
type Option struct{ apply func(*Guard) error }

// WithPrefix names the guard's tables: prefix + "_guard", "_operation" and
// "_override". It is letters, digits and underscores, at most 40, and may begin
// with a schema and a dot. Defaults to "zkfence".
func WithPrefix(prefix string) Option {
	return Option{func(g *Guard) error {
		g.names.prefix = prefix
		return validName("prefix", prefix, 40, true)
	}}
}

// WithTries sets how often a command runs at most before a conflict with others is
// the caller's. Defaults to 10.
func WithTries(n int) Option {
	return Option{func(g *Guard) error {
		if g.tries = n; n < 1 {
			return fmt.Errorf("sqlfence: WithTries(%d): want at least 1", n)
		}
		return nil
	}}
}

// WithIsolation sets the isolation level of commands. The fence holds at each; a
// level that the driver does not know is an error of each command. Defaults to the
// database's own.
func WithIsolation(level sql.IsolationLevel) Option {
	return Option{func(g *Guard) error {
		g.tx = &sql.TxOptions{Isolation: level}
		return nil
	}}
}

// WithTriggers says that tables have the triggers of Schema. In MySQL it costs each
// command one more round trip, and without it they refuse every command; it also
// finds a transaction that the server has rolled back under the function, see
// Do. Elsewhere it changes nothing. Defaults to no triggers.
func WithTriggers() Option {
	return Option{func(g *Guard) error {
		g.triggers = true
		return nil
	}}
}

// New returns a guard with its tables in db. It asks the database nothing; the
// tables are made by Migrate.
func New(db *sql.DB, d Dialect, opts ...Option) (*Guard, error) {
	if db == nil {
		return nil, errors.New("sqlfence: New was given no database")
	}
	if d.words == nil || d.fault == nil {
		return nil, errors.New("sqlfence: the dialect is empty: use postgres.Dialect, mysql.Dialect, sqlite.Dialect, or a function of this package with what tells the driver's errors")
	}
	g := &Guard{db: db, words: d.words, fault: d.fault, names: names{"zkfence"}, tries: 10}
	for _, o := range opts {
		if o.apply == nil {
			return nil, errors.New("sqlfence: New was given an empty option")
		}
		if err := o.apply(g); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *Guard) made() error {
	if g == nil || g.db == nil {
		return errNotMade
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

func validName(what, name string, limit int, dot bool) error {
	if len(name) > limit || !nameForm.MatchString(name) || !dot && base(name) != name {
		return fmt.Errorf("sqlfence: %s %.60q: want letters, digits and underscores, at most %d, and no digit first", what, name, limit)
	}
	return nil
}

// Last returns what the guard remembers of the resource, the zero Stamp if nothing.
// A command that is under way is not counted yet.
func (g *Guard) Last(ctx context.Context, resource string) (fencing.Stamp, error) {
	if err := g.made(); err != nil {
		return fencing.Stamp{}, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return fencing.Stamp{}, err
	}
	last, err := g.look(ctx, g.db, resource, false)
	if err != nil {
		return fencing.Stamp{}, fmt.Errorf("sqlfence: resource %q: %w", resource, g.explain(ctx, err))
	}
	return last, nil
}

// queryer is a sql.DB, a Conn or a Tx.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (g *Guard) look(ctx context.Context, q queryer, resource string, lock bool) (last fencing.Stamp, err error) {
	s := look(g.words, g.names, resource, lock)
	return scanStamp(q.QueryRowContext(ctx, s.text, s.args...))
}

// scanStamp takes no row for the zero Stamp.
func scanStamp(row *sql.Row) (s fencing.Stamp, err error) {
	var seq int64
	switch err := row.Scan(&s.Token, &seq); {
	case errors.Is(err, sql.ErrNoRows):
		return fencing.Stamp{}, nil
	case err != nil:
		return fencing.Stamp{}, err
	case seq < 0:
		return fencing.Stamp{}, fmt.Errorf("sqlfence: the remembered seq %d is negative: somebody has written it by hand", seq)
	}
	s.Seq = uint64(seq)
	return s, nil
}

// lost reports whether err, of a COMMIT, leaves open what became of the transaction.
func (g *Guard) lost(err error) bool {
	fault := g.fault(err)
	return fault == Unknown || fault == RefusedStatement
}

// explain says what to do about an error of a statement of our own. Where codes do
// not tell that a table is missing, it looks.
func (g *Guard) explain(ctx context.Context, err error) error {
	fault := g.fault(err)
	if ask := g.words.isTable(); ask != "" && (fault == Refused || fault == RefusedStatement) {
		var n int
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		for _, name := range []string{g.names.guard(), g.names.operation(), g.names.override()} {
			if g.db.QueryRowContext(ctx, ask, base(name)).Scan(&n) == nil && n == 0 {
				fault = NoTable
			}
		}
	}
	return explain(fault, err)
}

// again waits before another try of what was in conflict, and reports whether there
// is one.
func (g *Guard) again(ctx context.Context, try int, err error) bool {
	if try >= g.tries || !errors.Is(err, errMoved) && g.fault(err) != Conflict {
		return false
	}
	// Not all at once: those that were in each other's way would be so again.
	t := time.NewTimer(rand.N(min(time.Millisecond<<min(try, 10), longestPause)))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}
