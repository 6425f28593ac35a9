package sqlfence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/zkfence/zkfence/fencing"
)

// Fenced is a table to be given a trigger that refuses every write that bypasses the
// fence: a Table or a Rows. One unfenced script is enough to break what all
// others keep.
type Fenced interface {
	statements(w words, n names) ([]string, error)
}

// Table is a table that is written in Guard.Do. Its trigger lets a row be changed
// only in a transaction that has passed the fence of the row's resource. It is there
// against mistakes; whoever can write the guard's table, or drop a trigger, can pass
// it. In MySQL commands need WithTriggers.
//
// No trigger runs for TRUNCATE and for what a foreign key cascades in MySQL, for
// rows that INSERT OR REPLACE takes away in SQLite (unless recursive_triggers is
// on), nor where a superuser of PostgreSQL has set session_replication_role. In
// PostgreSQL the rows of tables that inherit from this one are not fenced, under
// either name: give each such table as one of its own. Partitions are, but for a
// TRUNCATE of one of them.
type Table struct {
	// Name is as the database keeps it; a schema and a dot may stand before it.
	Name string
	// Resource is what all rows are; or, where each row is a resource, Prefix and
	// the text of Column make its name.
	Resource       string
	Prefix, Column string
}

func (t Table) statements(w words, n names) ([]string, error) {
	if err := validName("table", t.Name, 120, true); err != nil {
		return nil, err
	}
	if (t.Resource == "") == (t.Column == "") || t.Column == "" && t.Prefix != "" {
		return nil, fmt.Errorf("sqlfence: table %q: give Resource, or Column with a Prefix or without, and not both", t.Name)
	}
	if t.Column != "" {
		if err := validName("column", t.Column, 63, false); err != nil {
			return nil, err
		}
	}
	if t.Resource != "" {
		if err := fencing.ValidateResource(t.Resource); err != nil {
			return nil, err
		}
	}
	if t.Prefix != "" {
		if err := fencing.ValidateResource(t.Prefix); err != nil {
			return nil, err
		}
	}
	if strings.Contains(t.Resource+t.Prefix, "$zkfence$") {
		return nil, fmt.Errorf("sqlfence: table %q: $zkfence$ cannot be a part of a name in a trigger", t.Name)
	}
	return w.fenced(n, t)
}

// Schema returns the statements that make what the guard needs and the triggers of
// the tables, in order, for those who manage schemas themselves. Each is one
// statement without a semicolon at its end; the triggers' bodies have some within.
// They may be run again.
func (g *Guard) Schema(tables ...Fenced) ([]string, error) {
	if err := g.made(); err != nil {
		return nil, err
	}
	all := g.words.tables(g.names)
	for _, t := range tables {
		if t == nil {
			return nil, errors.New("sqlfence: Schema was given a nil table")
		}
		statements, err := t.statements(g.words, g.names)
		if err != nil {
			return nil, err
		}
		all = append(all, statements...)
	}
	return all, nil
}

// Migrate runs what Schema returns, in PostgreSQL and SQLite all of it or nothing.
// It may run again, and in several processes at once. It changes no table and, but
// for PostgreSQL, no trigger that is there already; the index of Forget is added to a
// table that is there, but for MySQL.
func (g *Guard) Migrate(ctx context.Context, tables ...Fenced) error {
	statements, err := g.Schema(tables...)
	if err != nil {
		return err
	}
	for try := 1; ; try++ {
		err := g.migrate(ctx, statements)
		if err == nil {
			return nil
		}
		if !g.again(ctx, try, err) {
			return fmt.Errorf("sqlfence: migrating: %w", explain(g.fault(err), err))
		}
	}
}

func (g *Guard) migrate(ctx context.Context, statements []string) error {
	transaction, lock := g.words.migrate()
	if !transaction {
		for _, s := range statements {
			if _, err := g.db.ExecContext(ctx, s); err != nil {
				return inStatement(s, err)
			}
		}
		return nil
	}
	tx, err := g.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := runAll(ctx, tx, lock, statements); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func runAll(ctx context.Context, tx *sql.Tx, lock string, statements []string) error {
	if lock != "" {
		if _, err := tx.ExecContext(ctx, lock); err != nil {
			return err
		}
	}
	for _, s := range statements {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return inStatement(s, err)
		}
	}
	return nil
}

func inStatement(s string, err error) error {
	line, _, _ := strings.Cut(s, "\n")
	return fmt.Errorf("%.100q: %w", line, err)
}
