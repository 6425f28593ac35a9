package sqlfence_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Without it Forget reads, and in MySQL locks, every record that there is.
func TestForgetHasAnIndex(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		p.migrate(false)
		ctx := t.Context()
		db := p.db()
		count := func() (n int) {
			t.Helper()
			query := map[string]string{
				"sqlite": "SELECT COUNT(*) FROM pragma_index_list('zkfence_operation') AS l, pragma_index_info(l.name) AS i WHERE i.seqno = 0 AND i.name = 'done_at'",
				"pgx":    "SELECT COUNT(*) FROM pg_indexes WHERE schemaname = current_schema() AND tablename = 'zkfence_operation' AND indexdef LIKE '%(done_at)'",
				"mysql":  "SELECT COUNT(*) FROM information_schema.statistics WHERE table_schema = DATABASE() AND table_name = 'zkfence_operation' AND column_name = 'done_at' AND seq_in_index = 1",
			}[p.driver]
			require.NoError(t, db.QueryRowContext(ctx, query).Scan(&n))
			return n
		}
		require.Equal(t, 1, count())
		require.NoError(t, p.guard(db).Migrate(ctx))
		require.Equal(t, 1, count(), "after another Migrate")
		if p.driver != "mysql" { // a table from before the index
			require.NoError(t, script(ctx, db, "DROP INDEX zkfence_operation_done_at"))
			require.Zero(t, count())
			require.NoError(t, p.guard(db).Migrate(ctx))
			require.Equal(t, 1, count())
		}
	})
}
