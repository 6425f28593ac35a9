package sqlfence_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
	"github.com/zkfence/zkfence/fencing/sqlfence/mysql"
	"github.com/zkfence/zkfence/fencing/sqlfence/postgres"
	"github.com/zkfence/zkfence/fencing/sqlfence/sqlite"
)

// backends are the databases that are there, by the names of their tests.
func eachBackend[T interface {
	testing.TB
	Run(string, func(T)) bool
}](t T, f func(t T, p *place)) {
	for _, b := range []struct {
		name string
		at   func(testing.TB) *place
	}{{"SQLite", atSQLite}, {"PostgreSQL", atPostgreSQL}, {"MariaDB", atMariaDB}} {
		t.Run(b.name, func(t T) { f(t, b.at(t)) })
	}
}

// place is where one test has its tables: a file, a schema, a database.
type place struct {
	t       testing.TB
	dialect sqlfence.Dialect
	driver  string
	// source is the data source; with an address it goes through that one, and with
	// parameters it has those.
	source func(address string, parameters ...string) string
	// server is the address behind source, "" if there is none.
	server string
	// id is the column of entries that counts them.
	id string
	// restart crashes what is behind source, and returns once it is there again; nil if
	// that is somebody else's.
	restart func(context.Context) error
}

func atSQLite(t testing.TB) *place {
	file := filepath.Join(t.TempDir(), "db")
	opened := func(context.Context) error { return nil } // a file: each pool is a start
	return &place{t: t, dialect: sqlite.Dialect(), driver: "sqlite", id: "INTEGER PRIMARY KEY AUTOINCREMENT", restart: opened, source: func(_ string, parameters ...string) string {
		q := url.Values{"_pragma": {"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(NORMAL)"}}
		for i := 0; i < len(parameters); i += 2 {
			q.Add(parameters[i], parameters[i+1])
		}
		return "file:" + file + "?" + q.Encode()
	}}
}

func atPostgreSQL(t testing.TB) *place {
	return postgreSQL.named(t)
}

func postgreSQLAt(t testing.TB, source string) *place {
	u, err := url.Parse(source)
	require.NoError(t, err)
	schema := own()
	p := &place{t: t, dialect: postgres.Dialect(), driver: "pgx", server: u.Host, id: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY", source: func(address string, parameters ...string) string {
		v := *u
		if address != "" {
			v.Host = address
		}
		q := v.Query()
		q.Set("search_path", schema)
		for i := 0; i < len(parameters); i += 2 {
			q.Set(parameters[i], parameters[i+1])
		}
		v.RawQuery = q.Encode()
		return v.String()
	}}
	p.own("CREATE SCHEMA "+schema, "DROP SCHEMA "+schema+" CASCADE")
	return p
}

func atMariaDB(t testing.TB) *place {
	return mariaDB.named(t)
}

func mariaDBAt(t testing.TB, source string) *place {
	config, err := driver.ParseDSN(source)
	require.NoError(t, err)
	name := own()
	p := &place{t: t, dialect: mysql.Dialect(), driver: "mysql", server: config.Addr, id: "BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY", source: func(address string, parameters ...string) string {
		c := config.Clone()
		if c.DBName = name; len(parameters) == 1 {
			c.DBName, parameters = parameters[0], nil // a name: there is no database yet
		}
		if address != "" {
			c.Addr = address
		}
		for i := 0; i < len(parameters); i += 2 {
			if c.Params == nil {
				c.Params = make(map[string]string)
			}
			c.Params[parameters[i]] = parameters[i+1]
		}
		return c.FormatDSN()
	}}
	p.own("CREATE DATABASE "+name+" CHARACTER SET utf8mb4", "DROP DATABASE "+name, "mysql")
	return p
}

// pool is sql.Open, but for a driver that writes to the standard error what it also
// returns.
func (p *place) pool(source string) (*sql.DB, error) {
	if p.driver != "mysql" {
		return sql.Open(p.driver, source)
	}
	c, err := driver.ParseDSN(source)
	if err != nil {
		return nil, err
	}
	c.Logger = nothing{}
	connector, err := driver.NewConnector(c)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// nothing is a log for what tests break on purpose.
type nothing struct{}

func (nothing) Print(...any) {}

func own() string { return fmt.Sprintf("sqlfence_%08x", rand.Uint32()) }

// own creates what the test has for itself, and drops it behind everything else.
func (p *place) own(create, drop string, parameters ...string) {
	db, err := p.pool(p.source("", parameters...))
	require.NoError(p.t, err)
	_, err = db.ExecContext(p.t.Context(), create)
	require.NoError(p.t, err)
	db.SetMaxIdleConns(-1) // the server may have been restarted meanwhile
	p.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := db.ExecContext(ctx, drop); err != nil {
			p.t.Errorf("%s: %v", drop, err)
		}
		if err := db.Close(); err != nil {
			p.t.Error(err)
		}
	})
}

// open opens a pool of connections until the end of the test.
func (p *place) open(source string) *sql.DB {
	db, err := p.pool(source)
	require.NoError(p.t, err)
	db.SetMaxOpenConns(16)
	db.SetMaxIdleConns(16)
	p.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			p.t.Error(err)
		}
	})
	return db
}

func (p *place) db() *sql.DB { return p.open(p.source("")) }

// entries is the table that commands append to: each resource has a list.
var entries = sqlfence.Table{Name: "entries", Column: "resource"}

// migrate makes the guard's tables, entries, and, if asked, its trigger.
func (p *place) migrate(triggers bool) {
	ctx := p.t.Context()
	db, err := p.pool(p.source(""))
	require.NoError(p.t, err)
	defer db.Close()
	_, err = db.ExecContext(ctx, "CREATE TABLE entries (id "+p.id+", resource VARCHAR(600) NOT NULL, entry VARCHAR(600) NOT NULL)")
	require.NoError(p.t, err)
	g, err := sqlfence.New(db, p.dialect)
	require.NoError(p.t, err)
	if !triggers {
		require.NoError(p.t, g.Migrate(ctx))
		return
	}
	require.NoError(p.t, g.Migrate(ctx, entries))
}

func (p *place) guard(db *sql.DB, opts ...sqlfence.Option) *sqlfence.Guard {
	p.t.Helper()
	g, err := sqlfence.New(db, p.dialect, opts...)
	require.NoError(p.t, err)
	return g
}

// with writes values into a statement, which is safe with what tests have.
func with(statement string, values ...any) string { return fmt.Sprintf(statement, values...) }

// appending is a command that appends to the resource's list.
func appending(ctx context.Context, resource, entry string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, with("INSERT INTO entries (resource, entry) VALUES ('%s', '%s')", resource, entry))
		return err
	}
}

func (p *place) entries(db *sql.DB, resource string) []string {
	p.t.Helper()
	list, err := entriesOf(p.t.Context(), db, with("SELECT entry FROM entries WHERE resource = '%s' ORDER BY id", resource))
	require.NoError(p.t, err)
	return list
}

func entriesOf(ctx context.Context, db interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, query string, args ...any) (list []string, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var entry string
		if err := rows.Scan(&entry); err != nil {
			return nil, err
		}
		list = append(list, entry)
	}
	return list, rows.Err()
}

func token(n uint64) fencing.Token {
	t, err := fencing.FromUint64(n)
	if err != nil {
		panic(err)
	}
	return t
}

func stamp(n, seq uint64) fencing.Stamp { return fencing.Stamp{Token: token(n), Seq: seq} }
