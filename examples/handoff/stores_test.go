package main

import (
	"bytes"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/fencing"
)

// eachStore runs f with every value of -store that there is something for.
func eachStore(t *testing.T, f func(t *testing.T, k storeKind, source string)) {
	for _, k := range storeKinds() {
		t.Run(k.name, func(t *testing.T) {
			source := os.Getenv("ZKFENCE_POSTGRES")
			if k.name == "postgres" && source == "" {
				t.Skip("SKIPPED: ZKFENCE_POSTGRES names no PostgreSQL")
			}
			t.Parallel()
			f(t, k, source)
		})
	}
}

// The whole story, with each guard that there is for a report.
func TestTheLateWriteIsRefusedByEveryStore(t *testing.T) {
	eachStore(t, func(t *testing.T, k storeKind, source string) {
		var out bytes.Buffer
		s := incident{timeout: 2 * time.Second, freeze: !cast.CanStop, store: k.name, source: source, tl: cast.NewTimeline(&out)}
		err := s.run(t.Context())
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this system has no flock")
		}
		require.NoError(t, err, "%s", &out)
		require.Regexp(t, `W1 .*write refused: .*presented 0x[0-9a-f]+:1 is older than remembered 0x[0-9a-f]+:1`, out.String())
		require.Contains(t, out.String(), "the store holds W2's report")
		require.NotContains(t, out.String(), "secret")
	})
}

// What is one late write in the story, by two ways to one store.
func TestEveryStoreKeepsTheRule(t *testing.T) {
	eachStore(t, func(t *testing.T, k storeKind, source string) {
		ctx := t.Context()
		store, err := k.make(ctx, source)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip("this system has no flock")
		}
		require.NoError(t, err)
		closed := false
		defer func() {
			if !closed {
				require.NoError(t, store.close())
			}
		}()
		open := func() reports {
			r, err := k.open(store.place)
			require.NoError(t, err)
			return r
		}
		old, next := open(), open()
		report, last, err := old.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, reportRaw, string(report))
		require.Zero(t, last)

		require.NoError(t, old.Raise(ctx, stamp(t, "0x7:0").Token))
		require.NoError(t, old.Put(ctx, stamp(t, "0x7:1"), []byte("old")))
		require.NoError(t, next.Raise(ctx, stamp(t, "0xb:0").Token))
		report, last, err = next.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, "old", string(report))
		require.Equal(t, stamp(t, "0xb:0"), last)
		require.ErrorIs(t, old.Put(ctx, stamp(t, "0x7:2"), []byte("late")), fencing.ErrStale)
		require.NoError(t, next.Put(ctx, stamp(t, "0xb:1"), []byte("new")))

		var stale *fencing.StaleError
		require.ErrorAs(t, old.Put(ctx, stamp(t, "0x7:3"), []byte("late")), &stale)
		require.Equal(t, stamp(t, "0x7:3"), stale.Presented)
		require.Equal(t, stamp(t, "0xb:1"), stale.Highest)
		require.ErrorIs(t, next.Put(ctx, stamp(t, "0xb:1"), []byte("again")), fencing.ErrDuplicate)
		report, last, err = store.read(ctx)
		require.NoError(t, err)
		require.Equal(t, "new", string(report))
		require.Equal(t, stamp(t, "0xb:1"), last)

		require.NoError(t, old.Close())
		require.NoError(t, next.Close())
		closed = true
		require.NoError(t, store.close())
		if r, err := k.open(store.place); err == nil { // a folder is missed at once
			_, _, err = r.Get(ctx)
			require.Error(t, err, "the run is over")
			require.NoError(t, r.Close())
		}
	})
}

// A database's trigger stops whoever comes without the guard.
func TestADatabaseRefusesAWriteWithoutTheGuard(t *testing.T) {
	eachStore(t, func(t *testing.T, k storeKind, source string) {
		if k.name != "sqlite" && k.name != "postgres" {
			t.Skip("no database")
		}
		store, err := k.make(t.Context(), source)
		require.NoError(t, err)
		defer func() { require.NoError(t, store.close()) }()
		r, err := k.open(store.place)
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		db := r.(*table)
		_, err = db.db.ExecContext(t.Context(), "UPDATE "+db.schema+"reports SET body = 'unfenced'")
		require.Error(t, err)
		report, _, err := store.read(t.Context())
		require.NoError(t, err)
		require.Equal(t, reportRaw, string(report))
	})
}

func TestAStoreThatIsNotThereIsRefusedByName(t *testing.T) {
	require.EqualError(t, checkStore("disk", ""), `-store "disk": want one of gate, sqlite, postgres, file, http`)
	require.ErrorContains(t, checkStore("postgres", ""), "set ZKFENCE_POSTGRES")
	require.NoError(t, checkStore("postgres", "postgres://zkfence@127.0.0.1:1/postgres"))
	require.NoError(t, checkStore("gate", ""))

	_, err := makePostgres(t.Context(), "postgres://zkfence:hidden@127.0.0.1:1/postgres?sslmode=disable")
	require.ErrorContains(t, err, "-store postgres: ")
	require.NotContains(t, err.Error(), "hidden")
}
