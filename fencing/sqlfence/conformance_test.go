package sqlfence_test

import (
	"context"
	"database/sql"
	"testing"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// store is a place for the conformance suite.
type store struct {
	*place
	opts       []sqlfence.Option
	parameters []string // of the data source
	lossy      *proxy   // before the server, if answers are to be lost
}

func (s store) Open(context.Context) (fencetest.Guard, error) {
	address := ""
	if s.lossy != nil {
		address = s.lossy.Addr().String()
	}
	db, err := s.pool(s.source(address, s.parameters...))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	g, err := sqlfence.New(db, s.dialect, s.opts...)
	return losing{&tested{s.place, db, g}, s.lossy}, err
}

// losing is a Loser where a proxy stands before the server.
type losing struct {
	*tested
	lossy *proxy
}

func (l losing) LoseNextAnswer() { l.lossy.cut("commit", true) }

// restarting is a store whose place can be restarted.
type restarting struct {
	fencetest.Store
	p *place
}

func (r restarting) Restart(ctx context.Context) error { return r.p.restart(ctx) }

// keeps is s, restarted if its place can be.
func (p *place) keeps(s fencetest.Store) fencetest.Store {
	if p.restart == nil {
		return s
	}
	return restarting{s, p}
}

type tested struct {
	p  *place
	db *sql.DB
	*sqlfence.Guard
}

func (g *tested) Close() error { return g.db.Close() }

func (g *tested) Do(ctx context.Context, c fencetest.Command) (string, error) {
	run := func(tx *sql.Tx) (string, error) {
		fencetest.Pause(ctx)
		if _, err := tx.ExecContext(ctx, g.insert(), g.args(c.Resource, c.Entry)...); err != nil {
			return "", err
		}
		fencetest.Pause(ctx)
		if c.Fail {
			return "", fencetest.ErrCommand
		}
		return c.Outcome, nil
	}
	if c.OpID != "" {
		return g.DoOnce(ctx, c.Resource, c.Stamp, c.OpID, run)
	}
	return "", g.Guard.Do(ctx, c.Resource, c.Stamp, func(tx *sql.Tx) error { _, err := run(tx); return err })
}

func (g *tested) insert() string {
	if g.p.driver == "pgx" {
		return "INSERT INTO entries (resource, entry) VALUES ($1, $2)"
	}
	return "INSERT INTO entries (resource, entry) VALUES (?, ?)"
}

func (g *tested) args(resource, entry string) []any { return []any{resource, entry} }

func (g *tested) Read(ctx context.Context, resource string) (list []string, last fencing.Stamp, err error) {
	if last, err = g.Last(ctx, resource); err != nil {
		return nil, last, err
	}
	query := "SELECT entry FROM entries WHERE resource = ? ORDER BY id"
	switch g.p.driver {
	case "pgx":
		query = "SELECT entry FROM entries WHERE resource = $1 ORDER BY id"
	case "mysql": // the list's own column has a collation
		query = "SELECT entry FROM entries WHERE CAST(CONVERT(resource USING utf8mb4) AS BINARY) = CAST(? AS BINARY) ORDER BY id"
	}
	list, err = entriesOf(ctx, g.db, query, resource)
	return list, last, err
}

func subject(at func(testing.TB) *place, triggers bool, opts ...sqlfence.Option) fencetest.Subject {
	return fencetest.Subject{OpIDs: true, New: func(t fencetest.TB) fencetest.Store {
		p := at(t.(*testing.T))
		p.migrate(triggers)
		return p.keeps(store{place: p, opts: opts})
	}}
}

// lossy is subject, with a proxy before the server that loses answers.
func lossy(at func(testing.TB) *place) fencetest.Subject {
	return fencetest.Subject{OpIDs: true, LosesAnswers: true, New: func(t fencetest.TB) fencetest.Store {
		p := at(t.(*testing.T))
		p.migrate(false)
		return p.keeps(store{place: p, lossy: before(p.t, p.server)})
	}}
}

func TestSQLiteKeepsTheRule(t *testing.T) {
	fencetest.Run(t, subject(atSQLite, false))
}

func TestSQLiteKeepsTheRuleWithTriggers(t *testing.T) {
	fencetest.Run(t, subject(atSQLite, true, sqlfence.WithTriggers()))
}

func TestPostgreSQLKeepsTheRule(t *testing.T) {
	fencetest.Run(t, lossy(postgreSQL.crashable(t)))
}

func TestPostgreSQLKeepsTheRuleWithTriggers(t *testing.T) {
	atPostgreSQL(t) // skips
	fencetest.Run(t, subject(atPostgreSQL, true, sqlfence.WithTriggers()))
}

func TestMariaDBKeepsTheRule(t *testing.T) {
	fencetest.Run(t, lossy(mariaDB.crashable(t)))
}

func TestMariaDBKeepsTheRuleWithTriggers(t *testing.T) {
	atMariaDB(t)
	fencetest.Run(t, subject(atMariaDB, true, sqlfence.WithTriggers()))
}

// A count of rows that says 1 for a row that was found and left as it was; values
// written into the statement by the driver; another character set.
func TestMariaDBKeepsTheRuleWhateverTheDriverIsTold(t *testing.T) {
	atMariaDB(t)
	fencetest.Run(t, fencetest.Subject{OpIDs: true, New: func(t fencetest.TB) fencetest.Store {
		p := atMariaDB(t.(*testing.T))
		p.migrate(false)
		return store{place: p, parameters: []string{"clientFoundRows", "true", "interpolateParams", "true", "parseTime", "true", "charset", "utf8mb4", "sql_mode", "'SIMULTANEOUS_ASSIGNMENT,NO_BACKSLASH_ESCAPES'"}}
	}})
}

// The fence does not lean on a level. PostgreSQL has no READ UNCOMMITTED, and its own
// default is READ COMMITTED; that of MariaDB is REPEATABLE READ.
func TestTheRuleIsKeptAtEveryIsolation(t *testing.T) {
	for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
		t.Run("PostgreSQL"+level.String(), func(t *testing.T) {
			atPostgreSQL(t)
			fencetest.Run(t, subject(atPostgreSQL, true, sqlfence.WithIsolation(level)))
		})
	}
	for _, level := range []sql.IsolationLevel{sql.LevelReadUncommitted, sql.LevelReadCommitted, sql.LevelSerializable} {
		t.Run("MariaDB"+level.String(), func(t *testing.T) {
			atMariaDB(t)
			fencetest.Run(t, subject(atMariaDB, true, sqlfence.WithIsolation(level), sqlfence.WithTriggers()))
		})
	}
}
