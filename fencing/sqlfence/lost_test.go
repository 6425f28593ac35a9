package sqlfence_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

func eachServer(t *testing.T, f func(t *testing.T, p *place)) {
	eachBackend(t, func(t *testing.T, p *place) {
		if p.server == "" {
			return // SQLite has no connection to lose
		}
		f(t, p)
	})
}

// The answer to COMMIT is lost, with or without the COMMIT: nobody may be told that
// it failed, and the same Stamp finds out.
func TestALostCommitIsAnUnknownOutcome(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		direct := p.db()
		for _, committed := range []bool{false, true} {
			t.Run(fmt.Sprintf("Committed=%t", committed), func(t *testing.T) {
				ctx := t.Context()
				cutter := before(t, p.server)
				g := p.guard(p.open(p.source(cutter.Addr().String())))
				resource := fmt.Sprintf("r%t", committed)
				require.NoError(t, g.Do(ctx, resource, stamp(10, 1), appending(ctx, resource, "first")))

				cutter.cut("commit", committed)
				err := g.Do(ctx, resource, stamp(20, 1), appending(ctx, resource, "second"))
				require.False(t, cutter.armed())
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				require.NotErrorIs(t, err, sqlfence.ErrFloor)
				require.NotErrorIs(t, err, fencing.ErrDuplicate)

				// Applied or not, the new owner was seen.
				err = g.Do(ctx, resource, stamp(10, 2), appending(ctx, resource, "late"))
				require.ErrorIs(t, err, fencing.ErrStale)

				err = g.Do(ctx, resource, stamp(20, 1), appending(ctx, resource, "second"))
				if committed {
					require.ErrorIs(t, err, fencing.ErrDuplicate)
				} else {
					require.NoError(t, err)
				}
				require.Equal(t, []string{"first", "second"}, p.entries(direct, resource))
			})
		}
	})
}

// The network has swallowed the COMMIT, and nobody is told: whoever bounds the wait,
// the caller's context with pgx and the readTimeout with go-sql-driver, gets an unknown
// outcome. The floor is raised without that context.
func TestACommitThatIsNotAnswered(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		cutter := before(t, p.server)
		parameters := map[string][]string{"mysql": {"readTimeout", "2s"}}[p.driver]
		g := p.guard(p.open(p.source(cutter.Addr().String(), parameters...)))
		require.NoError(t, g.Do(t.Context(), "r", stamp(10, 1), appending(t.Context(), "r", "first")))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		held := map[string]func(){"pgx": cancel, "mysql": func() {}}[p.driver]
		cutter.silence("commit", held)
		err := g.Do(ctx, "r", stamp(20, 1), appending(ctx, "r", "second"))
		require.False(t, cutter.armed())
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, sqlfence.ErrFloor)
		require.ErrorIs(t, g.Do(t.Context(), "r", stamp(10, 2), appending(t.Context(), "r", "late")), fencing.ErrStale)
		require.NoError(t, g.Do(t.Context(), "r", stamp(20, 1), appending(t.Context(), "r", "second")))
		require.Equal(t, []string{"first", "second"}, p.entries(p.db(), "r"))
	})
}

// A later command has been sent before the retry: neither success nor failure (case 45).
func TestALostCommitRetriedTooLateIsSuperseded(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		cutter := before(t, p.server)
		g := p.guard(p.open(p.source(cutter.Addr().String())))
		cutter.cut("commit", false)
		require.ErrorIs(t, g.Do(ctx, "r", stamp(7, 1), appending(ctx, "r", "one")), fencing.ErrUnknownOutcome)
		require.NoError(t, g.Do(ctx, "r", stamp(7, 2), appending(ctx, "r", "two")))
		err := g.Do(ctx, "r", stamp(7, 1), appending(ctx, "r", "one"))
		require.ErrorIs(t, err, fencing.ErrSuperseded)
		require.NotErrorIs(t, err, fencing.ErrDuplicate)
		require.Equal(t, []string{"two"}, p.entries(p.db(), "r"))
	})
}

// Lost before COMMIT was sent, the transaction is undone, which is no unknown
// outcome: the floor alone stays.
func TestAConnectionLostInTheCommandIsAFailure(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		for _, after := range []bool{false, true} {
			ctx := t.Context()
			cutter := before(t, p.server)
			g := p.guard(p.open(p.source(cutter.Addr().String())))
			resource := fmt.Sprintf("r%t", after)
			require.NoError(t, g.Do(ctx, resource, stamp(10, 1), appending(ctx, resource, "first")))
			cutter.cut("into entries", after)
			err := g.Do(ctx, resource, stamp(20, 1), appending(ctx, resource, "second"))
			require.False(t, cutter.armed())
			require.Error(t, err)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			require.NotErrorIs(t, err, sqlfence.ErrFloor)
			last, err := g.Last(ctx, resource)
			require.NoError(t, err)
			require.Equal(t, stamp(20, 0), last)
			require.ErrorIs(t, g.Do(ctx, resource, stamp(10, 2), appending(ctx, resource, "late")), fencing.ErrStale)
			require.NoError(t, g.Do(ctx, resource, stamp(20, 1), appending(ctx, resource, "second")))
			require.Equal(t, []string{"first", "second"}, p.entries(p.db(), resource))
		}
	})
}

// The database goes away altogether: what could not be remembered is said.
func TestAFloorThatCannotBeRaisedIsSaid(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		cutter := before(t, p.server)
		g := p.guard(p.open(p.source(cutter.Addr().String())))
		require.NoError(t, g.Do(ctx, "r", stamp(10, 1), appending(ctx, "r", "first")))
		err := g.Do(ctx, "r", stamp(20, 1), func(tx *sql.Tx) error {
			cutter.Close() // no other connection
			cutter.cut("into entries", false)
			return appending(ctx, "r", "second")(tx)
		})
		require.ErrorIs(t, err, sqlfence.ErrFloor)
		require.ErrorContains(t, err, "0x14:1")
		last, err := p.guard(p.db()).Last(ctx, "r")
		require.NoError(t, err)
		require.Equal(t, stamp(10, 1), last)
	})
}

// One upsert: the same transaction with a guard takes one round trip more.
func TestAGuardCostsOneRoundTrip(t *testing.T) {
	eachServer(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		counter := before(t, p.server)
		db := p.open(p.source(counter.Addr().String()))
		db.SetMaxOpenConns(1)
		g := p.guard(db)
		trips := func(f func() error) int64 {
			require.NoError(t, f()) // connects, and prepares what a driver prepares once
			require.NoError(t, f()) // pgx pings a connection that it gets back for the first time
			began := counter.trips.Load()
			require.NoError(t, f())
			return counter.trips.Load() - began
		}
		bare := trips(func() error {
			tx, err := db.BeginTx(ctx, nil)
			require.NoError(t, err)
			require.NoError(t, appending(ctx, "r", "e")(tx))
			return tx.Commit()
		})
		q := fencing.NewSequencer(token(7))
		guarded := trips(func() error { return g.Do(ctx, "r", q.Next(), appending(ctx, "r", "e")) })
		require.Equal(t, bare+1, guarded)
		require.Equal(t, int64(3), bare)

		sealed := p.guard(db, sqlfence.WithTriggers())
		withTriggers := trips(func() error { return sealed.Do(ctx, "r", q.Next(), appending(ctx, "r", "e")) })
		require.LessOrEqual(t, withTriggers, bare+2)
		t.Logf("bare %d, guarded %d, for triggers %d", bare, guarded, withTriggers)
	})
}
