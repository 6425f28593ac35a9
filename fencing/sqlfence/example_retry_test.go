package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// A new owner raises the floor, reads, and writes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times: a fresh one could write
// twice. What else a later try fails with says nothing of the first.
func ExampleGuard_Do() {
	ctx := context.Background()
	db, guard := balances(ctx)
	defer db.Close()

	interest := func(token fencing.Token, next func() fencing.Stamp) error { // a Hold's Token and Next
		if err := guard.Raise(ctx, "balances/alice", token); err != nil {
			return err
		}
		var cents int
		err := db.QueryRowContext(ctx, `SELECT cents FROM balances WHERE account = 'alice'`).Scan(&cents)
		if err != nil {
			return err
		}
		stamp := next()
		for range 5 {
			err = guard.Do(ctx, "balances/alice", stamp, func(tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `UPDATE balances SET cents = ? WHERE account = 'alice'`, cents+cents/10)
				return err
			})
			if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
				break
			}
		}
		if errors.Is(err, fencing.ErrDuplicate) { // an earlier try was applied
			return nil
		}
		return err // one that matches fencing.ErrStale: there is a newer owner, stop
	}

	owner, _ := fencing.FromUint64(0x200000007)
	later, _ := fencing.FromUint64(0x20000000b)
	fmt.Println(interest(later, fencing.NewSequencer(later).Next))
	fmt.Println(interest(owner, fencing.NewSequencer(owner).Next)) // has lost its lock, and is late
	var cents int
	fmt.Println(db.QueryRowContext(ctx, `SELECT cents FROM balances`).Scan(&cents), cents)
	// Output:
	// <nil>
	// fencing: resource "balances/alice": stale token: presented 0x200000007:0 is older than remembered 0x20000000b:1
	// <nil> 1100
}
