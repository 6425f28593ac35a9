package sqlfence_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// An operation is recorded in the transaction of its command: lost with it, or there
// with it, whoever asks.
func TestAnOperationIsCommittedWithItsCommand(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		cutter := before(t, p.server)
		g := p.guard(p.open(p.source(cutter.Addr().String())))
		for _, committed := range []bool{false, true} {
			resource := fmt.Sprintf("r%t", committed)
			pay := func(n uint64) (string, error) {
				return g.DoOnce(ctx, resource, stamp(n, 1), "pay", func(tx *sql.Tx) (string, error) {
					return fmt.Sprint("by ", n), appending(ctx, resource, fmt.Sprint(n))(tx)
				})
			}
			cutter.cut("commit", committed)
			_, err := pay(10)
			require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
			outcome, err := pay(20)
			require.NoError(t, err)
			want := map[bool]string{false: "20", true: "10"}[committed]
			require.Equal(t, "by "+want, outcome)
			require.Equal(t, []string{want}, p.entries(p.db(), resource))
		}
	})
}

// A COMMIT that is answered with an error is no unknown outcome: nothing was kept, and
// the same Stamp may run.
func TestARefusedCommitIsAFailure(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		if p.driver == "mysql" {
			return // it checks nothing as late as that
		}
		p.migrate(false)
		ctx := t.Context()
		db := p.open(p.source("", map[string][]string{"sqlite": {"_pragma", "foreign_keys(1)"}}[p.driver]...))
		require.NoError(t, script(ctx, db, "CREATE TABLE parents (id INT PRIMARY KEY)"))
		require.NoError(t, script(ctx, db, "CREATE TABLE children (parent INT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)"))
		g := p.guard(db)
		require.NoError(t, g.Raise(ctx, "r", token(5)))
		err := g.Do(ctx, "r", stamp(10, 1), func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO children VALUES (1)")
			require.NoError(t, err)
			return appending(ctx, "r", "e")(tx)
		})
		require.ErrorContains(t, err, "committing")
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, sqlfence.ErrFloor)
		last, err := g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(10, 0), last)
		require.NoError(t, g.Do(ctx, "r", stamp(10, 1), appending(ctx, "r", "f")))
		require.Equal(t, []string{"f"}, p.entries(db, "r"))
	})
}

// PostgreSQL answers the COMMIT of a failed transaction with a ROLLBACK, and no error.
func TestAnErrorThatTheFunctionKeepsToItself(t *testing.T) {
	p := atPostgreSQL(t)
	p.migrate(false)
	ctx := t.Context()
	g := p.guard(p.db())
	err := g.Do(ctx, "r", stamp(10, 1), func(tx *sql.Tx) error {
		require.NoError(t, appending(ctx, "r", "e")(tx))
		_, err := tx.ExecContext(ctx, "SELECT nothing")
		require.Error(t, err)
		return nil
	})
	require.Error(t, err)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	last, err := g.Last(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, stamp(10, 0), last)
	require.Empty(t, p.entries(p.db(), "r"))
}

// The function has committed by a statement, which database/sql does not see, and the
// guard's own COMMIT meets no transaction: that was told as a commit which was refused,
// with the row and the Stamp kept.
func TestACommitThatMeetsNoTransactionIsUnknown(t *testing.T) {
	p := atSQLite(t)
	p.migrate(false)
	ctx := t.Context()
	g := p.guard(p.db())
	run := func() error {
		return g.Do(ctx, "r", stamp(10, 1), func(tx *sql.Tx) error {
			require.NoError(t, appending(ctx, "r", "e")(tx))
			_, err := tx.ExecContext(ctx, "COMMIT")
			return err
		})
	}
	require.ErrorIs(t, run(), fencing.ErrUnknownOutcome)
	require.ErrorIs(t, run(), fencing.ErrDuplicate, "found out")
	require.Equal(t, []string{"e"}, p.entries(p.db(), "r"))
}
