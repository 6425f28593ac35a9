package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
	"github.com/zkfence/zkfence/fencing/sqlfence/sqlite"
)

// A database with a table of balances; a test's has no name.
func balances(ctx context.Context) (*sql.DB, *sqlfence.Guard) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		log.Fatal(err)
	}
	db.SetMaxOpenConns(1) // each connection would have a memory of its own
	guard, err := sqlfence.New(db, sqlite.Dialect())
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.Migrate(ctx); err != nil {
		log.Fatal(err)
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE balances (account TEXT PRIMARY KEY, cents INTEGER, version INTEGER);
		INSERT INTO balances VALUES ('alice', 1000, 1)`); err != nil {
		log.Fatal(err)
	}
	return db, guard
}

// The fence orders owners. It does not know what a command was computed from: two
// commands of the rightful owner, both built on version 1, would undo one another. So
// the version that is expected stands beside the fence.
func ExampleGuard_Do_expectedVersion() {
	ctx := context.Background()
	db, guard := balances(ctx)
	defer db.Close()

	errChanged := errors.New("alice's balance has changed since it was read: read it again")
	set := func(stamp fencing.Stamp, cents, expected int) error {
		return guard.Do(ctx, "balances/alice", stamp, func(tx *sql.Tx) error {
			r, err := tx.ExecContext(ctx, `UPDATE balances SET cents = ?, version = version + 1
				WHERE account = 'alice' AND version = ?`, cents, expected)
			if err != nil {
				return err
			}
			if n, err := r.RowsAffected(); err != nil || n == 0 {
				return errors.Join(errChanged, err)
			}
			return nil
		})
	}

	owner, _ := fencing.FromUint64(0x200000007) // a Hold's Token
	later, _ := fencing.FromUint64(0x20000000b)
	mine, theirs := fencing.NewSequencer(owner), fencing.NewSequencer(later) // a Hold's Next is one

	fmt.Println(set(mine.Next(), 900, 1))
	fmt.Println(set(mine.Next(), 950, 1))   // the right owner, with what it read before
	fmt.Println(set(theirs.Next(), 800, 2)) // the next owner
	fmt.Println(set(mine.Next(), 700, 3))   // the right version, of an owner that has lost
	// Output:
	// <nil>
	// sqlfence: resource "balances/alice", command 0x200000007:2: alice's balance has changed since it was read: read it again
	// <nil>
	// fencing: resource "balances/alice": stale token: presented 0x200000007:3 is older than remembered 0x20000000b:1
}

// The next leader takes up what the last one has begun, and does not pay twice.
func ExampleGuard_DoOnce() {
	ctx := context.Background()
	db, guard := balances(ctx)
	defer db.Close()

	pay := func(stamp fencing.Stamp) (string, error) {
		return guard.DoOnce(ctx, "balances/alice", stamp, "invoice-17", func(tx *sql.Tx) (string, error) {
			_, err := tx.ExecContext(ctx, `UPDATE balances SET cents = cents - 100 WHERE account = 'alice'`)
			return "paid by " + stamp.Token.String(), err
		})
	}
	first, _ := fencing.FromUint64(0x200000007)
	second, _ := fencing.FromUint64(0x20000000b)
	fmt.Println(pay(fencing.NewSequencer(first).Next()))
	fmt.Println(pay(fencing.NewSequencer(second).Next()))
	var cents int
	if err := db.QueryRowContext(ctx, `SELECT cents FROM balances`).Scan(&cents); err != nil {
		log.Fatal(err)
	}
	fmt.Println(cents)
	// Output:
	// paid by 0x200000007 <nil>
	// paid by 0x200000007 <nil>
	// 900
}

// One statement, for a table whose rows carry their own fence.
func ExampleFencedRows() {
	ctx := context.Background()
	db, guard := balances(ctx)
	defer db.Close()
	if _, err := db.ExecContext(ctx, `CREATE TABLE reports (name TEXT PRIMARY KEY, body TEXT,
		token BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0);
		INSERT INTO reports (name) VALUES ('july')`); err != nil {
		log.Fatal(err)
	}
	rows, err := guard.Rows(sqlfence.Rows{Table: "reports", Key: "name"})
	if err != nil {
		log.Fatal(err)
	}
	// UPDATE reports SET body = ?, "token" = ?, "seq" = ? WHERE name = ? AND ("token", "seq") < (?, ?)
	query := "UPDATE reports SET body = ?, " + rows.Set(2) + " WHERE name = ? AND " + rows.Where(5)
	publish := func(stamp fencing.Stamp, body string) error {
		args := append([]any{body}, rows.Args(stamp)...)
		args = append(args, "july")
		return rows.Exec(ctx, "july", stamp, query, append(args, rows.Args(stamp)...)...)
	}
	owner, _ := fencing.FromUint64(0x200000007)
	later, _ := fencing.FromUint64(0x20000000b)
	fmt.Println(publish(fencing.Stamp{Token: later, Seq: 1}, "B's"))
	fmt.Println(publish(fencing.Stamp{Token: owner, Seq: 1}, "A's, late"))
	fmt.Println(publish(fencing.Stamp{Token: later, Seq: 1}, "B's again"))
	// Output:
	// <nil>
	// fencing: resource "reports/july": stale token: presented 0x200000007:1 is older than remembered 0x20000000b:1
	// fencing: resource "reports/july": duplicate command: presented 0x20000000b:1, remembered 0x20000000b:1: it has been applied
}
