package sqlfence_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/sqlfence"
)

// A Seq that cannot be remembered is no reason to forget the token that it came with:
// the older owner's late command was let in after it (case 26).
func TestANewerTokenIsSeenWhateverItsSeq(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		db, f := p.reports(t)
		g := p.guard(db)
		require.NoError(t, script(ctx, db, "INSERT INTO reports (name, token) VALUES ('r', 10)"))
		for _, form := range []struct {
			name string
			do   func(fencing.Stamp) error
			last func(context.Context) (fencing.Stamp, error)
		}{
			{"Do", func(s fencing.Stamp) error { return g.Do(ctx, "r", s, appending(ctx, "r", s.String())) },
				func(ctx context.Context) (fencing.Stamp, error) { return g.Last(ctx, "r") }},
			{"Exec", func(s fencing.Stamp) error { return write(ctx, p, f, "r", s, "e", -1) },
				func(ctx context.Context) (fencing.Stamp, error) { return f.Last(ctx, "r") }},
		} {
			t.Run(form.name, func(t *testing.T) {
				last := func(want fencing.Stamp) {
					t.Helper()
					have, err := form.last(ctx)
					require.NoError(t, err)
					require.Equal(t, want, have)
				}
				require.NoError(t, form.do(stamp(10, 1)))
				err := form.do(stamp(20, math.MaxInt64+1))
				require.ErrorContains(t, err, "BIGINT")
				require.NotErrorIs(t, err, sqlfence.ErrFloor)
				last(stamp(20, 0))
				require.ErrorIs(t, form.do(stamp(10, 2)), fencing.ErrStale)

				err = form.do(stamp(30, 0))
				require.ErrorIs(t, err, fencing.ErrZeroSeq)
				require.NotErrorIs(t, err, sqlfence.ErrFloor)
				last(stamp(30, 0))
				require.ErrorIs(t, form.do(stamp(20, 1)), fencing.ErrStale)

				// Older than what is remembered is told first, with both Stamps.
				for _, seq := range []uint64{0, math.MaxUint64} {
					err = form.do(stamp(20, seq))
					require.ErrorIs(t, err, fencing.ErrStale)
					var stale *fencing.StaleError
					require.ErrorAs(t, err, &stale)
					require.Equal(t, stamp(20, seq), stale.Presented)
					require.Equal(t, stamp(30, 0), stale.Highest)
				}
				// The floor of the same token is not taken down, nor the Seq back.
				require.NoError(t, form.do(stamp(30, 5)))
				require.ErrorContains(t, form.do(stamp(30, math.MaxUint64)), "BIGINT")
				require.ErrorIs(t, form.do(stamp(30, 0)), fencing.ErrZeroSeq)
				last(stamp(30, 5))
			})
		}

		// A row that is not there remembers nothing, which is said.
		err := write(ctx, p, f, "none", stamp(40, 0), "e", -1)
		require.ErrorIs(t, err, fencing.ErrZeroSeq)
		require.ErrorIs(t, err, sqlfence.ErrFloor)
		require.ErrorIs(t, err, sqlfence.ErrNoRow)
	})
}
