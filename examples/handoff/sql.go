package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
	"github.com/zkfence/zkfence/fencing/sqlfence/postgres"
	"github.com/zkfence/zkfence/fencing/sqlfence/sqlite"
)

// table is the report as a row of a database, written in sqlfence's transactions.
// Each process has one of its own: what they share is in the database.
type table struct {
	db     *sql.DB
	guard  *sqlfence.Guard
	schema string // with its dot, or ""
}

func openTable(db *sql.DB, d sqlfence.Dialect, schema string) (*table, error) {
	guard, err := sqlfence.New(db, d, sqlfence.WithPrefix(schema+"zkfence"))
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &table{db, guard, schema}, nil
}

// create makes the tables, with the raw report. From then on a trigger refuses
// whoever writes without the guard.
func (t *table) create(ctx context.Context) error {
	if _, err := t.db.ExecContext(ctx, "CREATE TABLE "+t.schema+"reports (name VARCHAR(512) PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
		return err
	}
	if _, err := t.db.ExecContext(ctx, "INSERT INTO "+t.schema+"reports VALUES ($1, $2)", reportName, reportRaw); err != nil {
		return err
	}
	return t.guard.Migrate(ctx, sqlfence.Table{Name: t.schema + "reports", Resource: reportName})
}

func (t *table) Raise(ctx context.Context, token fencing.Token) error {
	return t.guard.Raise(ctx, reportName, token)
}

func (t *table) Get(ctx context.Context) (report []byte, last fencing.Stamp, err error) {
	if last, err = t.guard.Last(ctx, reportName); err != nil {
		return nil, last, err
	}
	var body string
	err = t.db.QueryRowContext(ctx, "SELECT body FROM "+t.schema+"reports WHERE name = $1", reportName).Scan(&body)
	return []byte(body), last, err
}

func (t *table) Put(ctx context.Context, s fencing.Stamp, report []byte) error {
	return t.guard.Do(ctx, reportName, s, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "UPDATE "+t.schema+"reports SET body = $1 WHERE name = $2", string(report), reportName)
		return err
	})
}

func (t *table) Close() error { return t.db.Close() }

// makeSQLite is -store sqlite: a database in a file that all processes open.
func makeSQLite(ctx context.Context, _ string) (*protected, error) {
	dir, err := os.MkdirTemp("", "zkfence-handoff-")
	if err != nil {
		return nil, err
	}
	p := place{Store: "sqlite", Address: filepath.Join(dir, "reports.db")}
	r, err := openSQLite(p)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	t := r.(*table)
	clear := func() error { return errors.Join(t.Close(), os.RemoveAll(dir)) }
	if err := t.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("-store sqlite: %w", err), clear())
	}
	return &protected{place: p, what: "SQLite's " + p.Address + ", behind sqlfence", read: t.Get, close: clear}, nil
}

func openSQLite(p place) (reports, error) {
	name := url.URL{Scheme: "file", Opaque: filepath.ToSlash(p.Address), RawQuery: "_pragma=busy_timeout(5000)"}
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	return openTable(db, sqlite.Dialect(), "")
}

// makePostgres is -store postgres: a schema of this run's own in a real server.
func makePostgres(ctx context.Context, source string) (*protected, error) {
	if source == "" {
		return nil, errNoSource
	}
	p := place{Store: "postgres", Address: source, Schema: "zkfence_handoff_" + strings.ToLower(rand.Text()[:8])}
	r, err := openPostgres(p)
	if err != nil {
		return nil, err
	}
	t := r.(*table)
	connecting, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %v; is PostgreSQL running there?", patience))
	defer cancel()
	if _, err := t.db.ExecContext(connecting, "CREATE SCHEMA "+p.Schema); err != nil {
		if connecting.Err() != nil {
			err = errors.Join(err, context.Cause(connecting))
		}
		return nil, errors.Join(fmt.Errorf("-store postgres: %w", err), t.Close())
	}
	drop := func() error {
		// Not ctx: the schema goes also when the story was broken off.
		dropping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		_, err := t.db.ExecContext(dropping, "DROP SCHEMA "+p.Schema+" CASCADE")
		return errors.Join(err, t.Close())
	}
	if err := t.create(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("-store postgres: %w", err), drop())
	}
	config, err := pgx.ParseConfig(source)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	what := fmt.Sprintf("PostgreSQL at %s:%d, schema %s, behind sqlfence", config.Host, config.Port, p.Schema)
	return &protected{place: p, what: what, read: t.Get, close: drop}, nil
}

func openPostgres(p place) (reports, error) {
	config, err := pgx.ParseConfig(p.Address)
	if err != nil {
		return nil, fmt.Errorf("-store postgres: %w", err) // which shows no password
	}
	return openTable(stdlib.OpenDB(*config), postgres.Dialect(), p.Schema+".")
}
