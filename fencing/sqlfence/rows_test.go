package sqlfence_test

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

var reports = sqlfence.Rows{Table: "reports", Key: "name"}

func (p *place) reports(t *testing.T) (*sql.DB, *sqlfence.FencedRows) {
	ctx := t.Context()
	db := p.db()
	require.NoError(t, script(ctx, db, `CREATE TABLE reports (name VARCHAR(100) PRIMARY KEY, body VARCHAR(10000) NOT NULL DEFAULT '', version INT NOT NULL DEFAULT 0,
		token BIGINT NOT NULL DEFAULT 0, seq BIGINT NOT NULL DEFAULT 0)`))
	g := p.guard(db)
	require.NoError(t, g.Migrate(ctx, reports))
	f, err := g.Rows(reports)
	require.NoError(t, err)
	return db, f
}

// write is one statement: the body, behind the fence and, if it is not negative, the
// version that is expected.
func write(ctx context.Context, p *place, f *sqlfence.FencedRows, name string, s fencing.Stamp, body string, version int) error {
	where := ""
	if version >= 0 {
		where = fmt.Sprintf(" AND version = %d", version)
	}
	query := "UPDATE reports SET body = body || ?, version = version + 1, " + f.Set(2) + " WHERE name = ? AND " + f.Where(5) + where
	switch p.driver {
	case "pgx":
		query = "UPDATE reports SET body = body || $1, version = version + 1, " + f.Set(2) + " WHERE name = $4 AND " + f.Where(5) + where
	case "mysql":
		query = "UPDATE reports SET body = CONCAT(body, ?), version = version + 1, " + f.Set(2) + " WHERE name = ? AND " + f.Where(5) + where
	}
	args := append([]any{body}, f.Args(s)...)
	args = append(args, name)
	return f.Exec(ctx, name, s, query, append(args, f.Args(s)...)...)
}

func bodyOf(t *testing.T, db *sql.DB, name string) (body string) {
	require.NoError(t, db.QueryRowContext(t.Context(), with("SELECT body FROM reports WHERE name = '%s'", name)).Scan(&body))
	return body
}

// No row was met: why not is looked up, never guessed.
func TestAStatementThatMeetsNoRowIsToldWhy(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		ctx := t.Context()
		db, f := p.reports(t)
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 1), "a", -1), sqlfence.ErrNoRow)
		require.ErrorIs(t, f.Raise(ctx, "r", token(10)), sqlfence.ErrNoRow)
		require.NoError(t, script(ctx, db, "INSERT INTO reports (name, token) VALUES ('r', 10)"))
		last := func(want fencing.Stamp) {
			t.Helper()
			have, err := f.Last(ctx, "r")
			require.NoError(t, err)
			require.Equal(t, want, have)
		}

		require.NoError(t, write(ctx, p, f, "r", stamp(10, 2), "a", 0))
		last(stamp(10, 2))
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 2), "b", 0), fencing.ErrDuplicate)
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 2), "b", -1), fencing.ErrDuplicate)
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 1), "b", -1), fencing.ErrSuperseded)
		err := write(ctx, p, f, "r", stamp(9, 5), "b", 1)
		require.ErrorIs(t, err, fencing.ErrStale)
		var stale *fencing.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, fencing.StaleError{Resource: "reports/r", Presented: stamp(9, 5), Highest: stamp(10, 2)}, *stale)
		require.ErrorIs(t, write(ctx, p, f, "r", fencing.Stamp{}, "b", 1), fencing.ErrZeroToken)
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 0), "b", 1), fencing.ErrZeroSeq)

		// The owner is right and the version is not. A newer owner was seen all the same.
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 3), "b", 0), sqlfence.ErrNotMatched)
		last(stamp(10, 2))
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(20, 1), "b", 0), sqlfence.ErrNotMatched)
		last(stamp(20, 0))
		require.ErrorIs(t, write(ctx, p, f, "r", stamp(10, 4), "b", 1), fencing.ErrStale)
		require.NoError(t, write(ctx, p, f, "r", stamp(20, 1), "c", 1))
		require.Equal(t, "ac", bodyOf(t, db, "r"))

		// A statement that fails counts for the floor alone.
		broken := "UPDATE reports SET body = NULL, " + f.Set(1) + " WHERE name = 'r' AND " + f.Where(3)
		require.Error(t, f.Exec(ctx, "r", stamp(30, 1), broken, append(f.Args(stamp(30, 1)), f.Args(stamp(30, 1))...)...))
		last(stamp(30, 0))
		require.NoError(t, f.Raise(ctx, "r", token(30)))
		require.ErrorIs(t, f.Raise(ctx, "r", token(20)), fencing.ErrStale)
	})
}

// The trigger asks that a row's Stamp grows, and an override alone takes it down
// (case 27).
func TestATriggerForRowsRefusesWhatBypassesTheFence(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		ctx := t.Context()
		db, f := p.reports(t)
		require.NoError(t, script(ctx, db, "INSERT INTO reports (name, token) VALUES ('r', 10)"))
		require.NoError(t, write(ctx, p, f, "r", stamp(10, 2), "a", 0))
		for _, text := range []string{
			"UPDATE reports SET body = 'script'",
			"UPDATE reports SET body = 'script', token = 9, seq = 5",
			"UPDATE reports SET body = 'script', seq = 1",
			"DELETE FROM reports",
			"INSERT INTO reports (name) VALUES ('s')",
		} {
			require.ErrorContains(t, script(ctx, db, text), "bypasses the fence", text)
		}
		require.NoError(t, f.Override(ctx, "r", stamp(3, 0), "the operator", "rebuilt"))
		require.ErrorContains(t, script(ctx, db, "UPDATE reports SET token = 1"), "bypasses the fence")
		require.NoError(t, write(ctx, p, f, "r", stamp(3, 1), "b", 1))
		require.Equal(t, "ab", bodyOf(t, db, "r"))
		records, err := p.guard(db).Overrides(ctx, "reports/r")
		require.NoError(t, err)
		require.Len(t, records, 1)
		require.Equal(t, stamp(10, 2), records[0].From)
		require.Equal(t, stamp(3, 0), records[0].To)
		require.ErrorIs(t, f.Override(ctx, "none", stamp(3, 0), "the operator", "rebuilt"), sqlfence.ErrNoRow)
		require.Error(t, f.Override(ctx, "r", stamp(3, 0), "", "rebuilt"))
	})
}

// One statement of 16 owners each, all at once: the body tells in which order they
// were applied (case 25).
func TestStatementsOfManyOwnersNeverGoBack(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		ctx := t.Context()
		db, f := p.reports(t)
		require.NoError(t, script(ctx, db, "INSERT INTO reports (name, token) VALUES ('r', 1)"))
		var clock atomic.Int64
		var mu sync.Mutex
		var attempts []fencetest.Attempt
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				for seq := range uint64(4) {
					s := stamp(10+uint64(i), seq+1)
					a := fencetest.Attempt{Entry: s.String(), Stamp: s, Began: clock.Add(1)}
					a.Err = write(ctx, p, f, "r", s, s.String()+" ", -1)
					a.Ended = clock.Add(1)
					mu.Lock()
					attempts = append(attempts, a)
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.NoError(t, fencetest.Judge(strings.Fields(bodyOf(t, db, "r")), attempts))
		last, err := f.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(25, 4), last)
	})
}
