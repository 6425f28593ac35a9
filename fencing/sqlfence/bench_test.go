package sqlfence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// A write in a transaction, without a guard and with it.
func BenchmarkWrite(b *testing.B) {
	eachBackend(b, func(b *testing.B, p *place) {
		p.migrate(false)
		ctx := b.Context()
		db := p.db()
		write := appending(ctx, "r", "e")
		b.Run("Bare", func(b *testing.B) {
			for b.Loop() {
				tx, err := db.BeginTx(ctx, nil)
				require.NoError(b, err)
				require.NoError(b, write(tx))
				require.NoError(b, tx.Commit())
			}
		})
		g := p.guard(db)
		last, err := g.Last(ctx, "r")
		require.NoError(b, err)
		q := fencing.NewSequencer(token(last.Token.Uint64() + 1))
		b.Run("Guarded", func(b *testing.B) {
			for b.Loop() {
				require.NoError(b, g.Do(ctx, "r", q.Next(), write))
			}
		})
	})
}
