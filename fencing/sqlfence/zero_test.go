package sqlfence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/zerotest"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// A Guard whose constructor's error was not looked at, or that was declared and never
// made, panicked in the middle of somebody's command.
func TestAGuardThatNobodyHasMadeRefusesEverything(t *testing.T) {
	for _, g := range []*sqlfence.Guard{nil, {}} {
		zerotest.Refuses(t, g, "guard was not made by New")
	}
}

// Set and Where have no error to answer with: their text must be one that no database
// runs, or a statement without a fence would be.
func TestRowsThatNobodyHasMadeRefuseEverything(t *testing.T) {
	ctx := t.Context()
	const want = "rows were not made by Guard.Rows"
	db := atSQLite(t).db()
	for _, f := range []*sqlfence.FencedRows{nil, {}} {
		_, err := f.Last(ctx, "r")
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, f.Exec(ctx, "r", stamp(1, 1), "UPDATE t SET a = 1"), want)
		require.ErrorContains(t, f.Raise(ctx, "r", token(1)), want)
		require.ErrorContains(t, f.Override(ctx, "r", fencing.Stamp{}, "who", "why"), want)
		require.Len(t, f.Args(stamp(1, 1)), 2)
		require.NoError(t, script(ctx, db, "CREATE TABLE IF NOT EXISTS t (a INT)"))
		require.Error(t, script(ctx, db, "UPDATE t SET a = 1, "+f.Set(1)))
		require.Error(t, script(ctx, db, "UPDATE t SET a = 1 WHERE a = 1 AND "+f.Where(1)))
		require.Contains(t, f.Set(1)+f.Where(1), want)
	}
}
