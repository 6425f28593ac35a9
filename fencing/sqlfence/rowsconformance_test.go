package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// journals is a table whose rows carry their own fence, for the conformance suite. A
// row's entries are its text, and a command is one statement.
type journals struct{ *place }

var journalRows = sqlfence.Rows{Table: "journals", Key: "name"}

func (s journals) Open(context.Context) (fencetest.Guard, error) {
	db, err := s.pool(s.source(""))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	g, err := sqlfence.New(db, s.dialect)
	if err != nil {
		return nil, err
	}
	rows, err := g.Rows(journalRows)
	return &journal{s.place, db, rows}, err
}

type journal struct {
	p    *place
	db   *sql.DB
	rows *sqlfence.FencedRows
}

func (j *journal) Close() error { return j.db.Close() }

// row makes the row, which no command does, and validates its name, which is the
// table's affair.
func (j *journal) row(ctx context.Context, resource string) error {
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	query := "INSERT INTO journals (name) VALUES (?) ON CONFLICT DO NOTHING"
	switch j.p.driver {
	case "pgx":
		query = "INSERT INTO journals (name) VALUES ($1) ON CONFLICT DO NOTHING"
	case "mysql":
		query = "INSERT IGNORE INTO journals (name) VALUES (?)"
	}
	_, err := j.db.ExecContext(ctx, query, resource)
	return err
}

// named has a refusal name the resource by the suite's word for it.
func named(resource string, err error) error {
	if stale := (*fencing.StaleError)(nil); errors.As(err, &stale) {
		return &fencing.StaleError{Resource: resource, Presented: stale.Presented, Highest: stale.Highest}
	}
	return err
}

func (j *journal) Do(ctx context.Context, c fencetest.Command) (string, error) {
	if err := j.row(ctx, c.Resource); err != nil {
		return "", err
	}
	query := "UPDATE journals SET body = body || ?, " + j.rows.Set(2) + " WHERE name = ? AND " + j.rows.Where(5)
	switch j.p.driver {
	case "pgx":
		query = "UPDATE journals SET body = body || $1, " + j.rows.Set(2) + " WHERE name = $4 AND " + j.rows.Where(5)
	case "mysql":
		query = "UPDATE journals SET body = CONCAT(body, ?), " + j.rows.Set(2) + " WHERE name = ? AND " + j.rows.Where(5)
	}
	args := append([]any{c.Entry + "\n"}, j.rows.Args(c.Stamp)...)
	args = append(append(args, c.Resource), j.rows.Args(c.Stamp)...)
	return "", named(c.Resource, j.rows.Exec(ctx, c.Resource, c.Stamp, query, args...))
}

func (j *journal) Raise(ctx context.Context, resource string, t fencing.Token) error {
	if err := j.row(ctx, resource); err != nil {
		return err
	}
	return named(resource, j.rows.Raise(ctx, resource, t))
}

func (j *journal) Read(ctx context.Context, resource string) (list []string, last fencing.Stamp, err error) {
	if err := j.row(ctx, resource); err != nil {
		return nil, last, err
	}
	if last, err = j.rows.Last(ctx, resource); err != nil {
		return nil, last, err
	}
	query := "SELECT body FROM journals WHERE name = ?"
	if j.p.driver == "pgx" {
		query = "SELECT body FROM journals WHERE name = $1"
	}
	var body string
	err = j.db.QueryRowContext(ctx, query, resource).Scan(&body)
	return strings.Fields(body), last, err
}

func TestRowsThatCarryTheirFenceKeepTheRule(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		fresh := atSQLite
		switch p.driver {
		case "pgx":
			fresh = postgreSQL.crashable(t)
		case "mysql":
			fresh = mariaDB.crashable(t)
		}
		fencetest.Run(t, fencetest.Subject{NoFailures: true, NoOverride: true, New: func(t fencetest.TB) fencetest.Store {
			own := fresh(t.(*testing.T))
			name := "VARCHAR(512)"
			if own.driver == "mysql" {
				name = "VARBINARY(512)"
			}
			require.NoError(t, script(t.Context(), own.db(), "CREATE TABLE journals (name "+name+" PRIMARY KEY, body VARCHAR(16000) NOT NULL DEFAULT '', token BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0)"))
			return own.keeps(journals{own})
		}})
	})
}
