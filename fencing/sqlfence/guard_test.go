package sqlfence_test

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	p := atSQLite(t)
	db := p.db()
	for _, c := range []struct {
		want string
		err  func() error
	}{
		{"no database", func() error { _, err := sqlfence.New(nil, p.dialect); return err }},
		{"postgres.Dialect", func() error { _, err := sqlfence.New(db, sqlfence.Dialect{}); return err }},
		{"postgres.Dialect", func() error { _, err := sqlfence.New(db, sqlfence.MySQL(nil)); return err }},
		{"empty option", func() error { _, err := sqlfence.New(db, p.dialect, sqlfence.Option{}); return err }},
		{"WithTries(0)", func() error { _, err := sqlfence.New(db, p.dialect, sqlfence.WithTries(0)); return err }},
		{`prefix "a b"`, func() error { _, err := sqlfence.New(db, p.dialect, sqlfence.WithPrefix("a b")); return err }},
		{"no function", func() error { return p.guard(db).Do(t.Context(), "r", stamp(1, 1), nil) }},
		{"not both", func() error { return p.guard(db).Migrate(t.Context(), sqlfence.Table{Name: "t"}) }},
		{`table "t;"`, func() error {
			return p.guard(db).Migrate(t.Context(), sqlfence.Table{Name: "t;", Resource: "r"})
		}},
		{`key column ""`, func() error { _, err := p.guard(db).Rows(sqlfence.Rows{Table: "t"}); return err }},
	} {
		require.ErrorContains(t, c.err(), c.want)
	}
}

// A command, a raise, a look: each says what to do.
func TestAMissingTableIsSaid(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		ctx := t.Context()
		g := p.guard(p.db())
		ran := false
		for _, err := range []error{
			g.Do(ctx, "r", stamp(1, 1), func(*sql.Tx) error { ran = true; return nil }),
			g.Raise(ctx, "r", token(1)),
			func() error { _, err := g.Last(ctx, "r"); return err }(),
			g.Override(ctx, "r", stamp(1, 1), "who", "why"),
			func() error { _, err := g.Overrides(ctx, "r"); return err }(),
		} {
			require.ErrorIs(t, err, sqlfence.ErrNoTable)
			require.ErrorContains(t, err, "call Migrate")
		}
		require.False(t, ran)
		require.ErrorIs(t, g.Do(ctx, "r", stamp(1, 1), func(*sql.Tx) error { return nil }), sqlfence.ErrFloor)

		require.NoError(t, g.Migrate(ctx))
		require.NoError(t, g.Do(ctx, "r", stamp(1, 1), func(*sql.Tx) error { return nil }))
		// A table of the function's own that is missing is not the guard's.
		err := g.Do(ctx, "r", stamp(1, 2), func(tx *sql.Tx) error { _, err := tx.ExecContext(ctx, "DELETE FROM elsewhere"); return err })
		require.Error(t, err)
		require.NotErrorIs(t, err, sqlfence.ErrNoTable)
		require.NotErrorIs(t, err, sqlfence.ErrFloor)
	})
}

// Several processes start at once, and each migrates.
func TestMigrateMayRunAtOnceAndAgain(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(true)
		var wg sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			g := p.guard(p.db(), sqlfence.WithPrefix("other"))
			wg.Go(func() { errs[i] = g.Migrate(t.Context(), entries) })
		}
		wg.Wait()
		require.NoError(t, errors.Join(errs...))
		ctx := t.Context()
		g := p.guard(p.db())
		require.NoError(t, g.Raise(ctx, "r", token(5)))
		require.NoError(t, g.Migrate(ctx, entries))
		last, err := g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(5, 0), last)
	})
}

func TestAReadOnlyDatabaseIsSaid(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		parameters := map[string][]string{"sqlite": {"mode", "ro"}, "pgx": {"default_transaction_read_only", "on"}, "mysql": {"tx_read_only", "1"}}[p.driver]
		g := p.guard(p.open(p.source("", parameters...)))
		err := g.Do(ctx, "r", stamp(1, 1), appending(ctx, "r", "e"))
		require.ErrorIs(t, err, sqlfence.ErrReadOnly)
		require.ErrorIs(t, err, sqlfence.ErrFloor)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorIs(t, g.Raise(ctx, "r", token(1)), sqlfence.ErrReadOnly)
		require.ErrorIs(t, g.Override(ctx, "r", stamp(1, 1), "who", "why"), sqlfence.ErrReadOnly)
		require.Empty(t, p.entries(p.db(), "r"))
	})
}

func TestAFullDiskLeavesNothing(t *testing.T) {
	p := atSQLite(t)
	p.migrate(false)
	ctx := t.Context()
	require.NoError(t, p.guard(p.db()).Do(ctx, "r", stamp(10, 1), appending(ctx, "r", "first")))
	var pages int
	require.NoError(t, p.db().QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages))
	g := p.guard(p.open(p.source("", "_pragma", with("max_page_count(%d)", pages+1))))
	err := g.Do(ctx, "r", stamp(20, 1), func(tx *sql.Tx) error {
		if err := appending(ctx, "r", "small")(tx); err != nil {
			return err
		}
		return appending(ctx, "r", strings.Repeat("x", 1<<20))(tx)
	})
	require.ErrorIs(t, err, sqlfence.ErrFull)
	require.NotErrorIs(t, err, sqlfence.ErrFloor) // one number fits
	require.Equal(t, []string{"first"}, p.entries(p.db(), "r"))
	last, err := g.Last(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, stamp(20, 0), last)
	require.ErrorIs(t, g.Do(ctx, "r", stamp(10, 2), appending(ctx, "r", "late")), fencing.ErrStale)

	// A resource that the guard has not seen has no room to be remembered in.
	for i := 0; err == nil; i++ {
		require.Less(t, i, 1000)
		name := with("%d/%s", i, strings.Repeat("n", 490))
		if err = g.Raise(ctx, name, token(1)); err != nil {
			require.ErrorIs(t, err, sqlfence.ErrFull)
			err = g.Do(ctx, name, stamp(1, 1), appending(ctx, name, "e"))
			require.ErrorIs(t, err, sqlfence.ErrFull)
			require.ErrorIs(t, err, sqlfence.ErrFloor)
			require.Empty(t, p.entries(p.db(), name))
		}
	}
}

// Numbers that a BIGINT does not hold are errors, and not other numbers (case 26).
func TestNumbersThatDoNotFit(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		db := p.db()
		g := p.guard(db)
		require.NoError(t, g.Do(ctx, "r", stamp(math.MaxInt64, math.MaxInt64), appending(ctx, "r", "e")))
		require.ErrorContains(t, g.Do(ctx, "r", stamp(math.MaxInt64, math.MaxInt64+1), appending(ctx, "r", "f")), "BIGINT")
		require.ErrorContains(t, g.Override(ctx, "r", stamp(1, math.MaxUint64), "who", "why"), "BIGINT")
		_, err := db.ExecContext(ctx, "UPDATE zkfence_guard SET token = -1")
		require.Error(t, err)
		last, err := g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(math.MaxInt64, math.MaxInt64), last)
	})
}

// A conflict runs the command again, with the Stamp that it has: a new one would be
// a second command.
func TestAConflictIsTriedAgainWithTheSameStamp(t *testing.T) {
	raise := map[string]string{
		"pgx":   "DO $$ BEGIN RAISE EXCEPTION 'as if' USING ERRCODE = '40P01'; END $$",
		"mysql": "BEGIN NOT ATOMIC SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213; END",
	}
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		db := p.db()
		g := p.guard(db, sqlfence.WithTries(4))
		ran := 0
		err := g.Do(ctx, "r", stamp(10, 3), func(tx *sql.Tx) error {
			if err := appending(ctx, "r", "e")(tx); err != nil {
				return err
			}
			if ran++; ran < 3 {
				_, err := tx.ExecContext(ctx, raise[p.driver])
				return err
			}
			return nil
		})
		require.NoError(t, err)
		require.Equal(t, 3, ran)
		require.Equal(t, []string{"e"}, p.entries(db, "r"))
		last, err := g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(10, 3), last)

		ran = 0
		err = g.Do(ctx, "r", stamp(20, 1), func(tx *sql.Tx) error {
			ran++
			_, err := tx.ExecContext(ctx, raise[p.driver])
			return err
		})
		require.Error(t, err)
		require.Equal(t, 4, ran, "bounded")
		last, err = g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(20, 0), last)
	})
}

// Two commands of two resources that lock two rows of others in opposite orders.
func TestADeadlockIsTriedAgain(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		db := p.db()
		for _, row := range []string{"x", "y"} {
			_, err := db.ExecContext(ctx, with("INSERT INTO entries (id, resource, entry) "+map[string]string{"pgx": "OVERRIDING SYSTEM VALUE"}[p.driver]+" VALUES (%d, '%s', '')", row[0], row))
			require.NoError(t, err)
		}
		g := p.guard(db)
		var both sync.WaitGroup
		both.Add(2)
		run := func(resource string, rows ...byte) (tries int, err error) {
			err = g.Do(ctx, resource, stamp(1, 1), func(tx *sql.Tx) error {
				tries++
				for i, row := range rows {
					if _, err := tx.ExecContext(ctx, with("UPDATE entries SET entry = '%s' WHERE id = %d", resource, row)); err != nil {
						return err
					}
					if i == 0 && tries == 1 {
						both.Done()
						both.Wait() // each has its first row
					}
				}
				return nil
			})
			return tries, err
		}
		var wg sync.WaitGroup
		var tries [2]int
		var errs [2]error
		wg.Go(func() { tries[0], errs[0] = run("a", 'x', 'y') })
		wg.Go(func() { tries[1], errs[1] = run("b", 'y', 'x') })
		wg.Wait()
		require.NoError(t, errors.Join(errs[:]...))
		require.Greater(t, tries[0]+tries[1], 2)
	})
}

// A panic, and an end of the goroutine, are failures of the command.
func TestAPanicRaisesTheFloor(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		g := p.guard(p.db())
		require.PanicsWithValue(t, "the function's", func() {
			_ = g.Do(ctx, "r", stamp(10, 1), func(tx *sql.Tx) error {
				if err := appending(ctx, "r", "e")(tx); err != nil {
					return err
				}
				panic("the function's")
			})
		})
		require.Empty(t, p.entries(p.db(), "r"))
		last, err := g.Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(10, 0), last)
	})
}

// The caller's context ends in the command: undone, and the floor is raised without
// it.
func TestAContextThatEndsInTheCommand(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx, cancel := context.WithCancelCause(t.Context())
		errGone := errors.New("gone home")
		g := p.guard(p.db())
		err := g.Do(ctx, "r", stamp(10, 1), func(tx *sql.Tx) error {
			err := appending(ctx, "r", "e")(tx)
			cancel(errGone)
			return err
		})
		require.ErrorIs(t, err, errGone)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, sqlfence.ErrFloor)
		require.Empty(t, p.entries(p.db(), "r"))
		last, err := g.Last(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, stamp(10, 0), last)
	})
}

// A function that commits by itself has taken the outcome out of the guard's hands.
func TestAFunctionThatEndsTheTransaction(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		g := p.guard(p.db())
		errOwn := errors.New("own")
		for seq, own := range []error{nil, errOwn} {
			s := stamp(10, uint64(seq)+1)
			err := g.Do(ctx, "r", s, func(tx *sql.Tx) error { return errors.Join(tx.Commit(), own) })
			require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		}
	})
}

func TestForget(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		g := p.guard(p.db())
		outcome, err := g.DoOnce(ctx, "r", stamp(1, 1), "op", func(*sql.Tx) (string, error) { return "done\x00\xff", nil })
		require.NoError(t, err)
		require.Equal(t, "done\x00\xff", outcome)
		_, err = g.DoOnce(ctx, "r", stamp(1, 2), "long", func(*sql.Tx) (string, error) { return strings.Repeat("x", sqlfence.MaxOutcome+1), nil })
		require.ErrorContains(t, err, "want at most 65536")
		_, err = g.DoOnce(ctx, "r", stamp(1, 3), "longest", func(*sql.Tx) (string, error) { return strings.Repeat("x", sqlfence.MaxOutcome), nil })
		require.NoError(t, err)

		n, err := g.Forget(ctx, 3600e9)
		require.NoError(t, err)
		require.Zero(t, n)
		outcome, err = g.DoOnce(ctx, "r", stamp(2, 1), "op", func(*sql.Tx) (string, error) { return "again", nil })
		require.NoError(t, err)
		require.Equal(t, "done\x00\xff", outcome)
		_, err = g.Forget(ctx, -1)
		require.Error(t, err)
	})
}

// "Never mind the age" in reverse: the rounding of the longest Duration to seconds went
// over its end, and everything was older than a time in the future. Each operation
// that was forgotten would have been applied again.
func TestForgetOfTheLongestAgeForgetsNothing(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		g := p.guard(p.db())
		pay := func(seq uint64, outcome string) string {
			outcome, err := g.DoOnce(ctx, "r", stamp(1, seq), "pay", func(*sql.Tx) (string, error) { return outcome, nil })
			require.NoError(t, err)
			return outcome
		}
		require.Equal(t, "first", pay(1, "first"))
		for _, age := range []time.Duration{math.MaxInt64, math.MaxInt64 - time.Second + 1, math.MaxInt64 - time.Second + 2} {
			n, err := g.Forget(ctx, age)
			require.NoError(t, err)
			require.Zero(t, n, age)
		}
		require.Equal(t, "first", pay(2, "again"))
	})
}
