package door_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

// BenchmarkDo compares a write that is synced to a file with the same through a door,
// whose file is synced before and after it.
func BenchmarkDo(b *testing.B) {
	dir := b.TempDir()
	data, err := os.Create(filepath.Join(dir, "data"))
	require.NoError(b, err)
	defer func() { require.NoError(b, data.Close()) }()
	write := func(context.Context) ([]byte, error) {
		if _, err := data.WriteAt([]byte("a page"), 0); err != nil {
			return nil, err
		}
		return nil, data.Sync()
	}
	b.Run("Bare", func(b *testing.B) {
		for b.Loop() {
			_, err := write(b.Context())
			require.NoError(b, err)
		}
	})
	for _, c := range []struct {
		how  string
		open func() (*door.Door, error)
	}{
		{"GuardInMemory", func() (*door.Door, error) { return door.New(door.Options{}) }},
		{"GuardWithFile", func() (*door.Door, error) { return door.Open(filepath.Join(dir, "door"), door.Options{}) }},
	} {
		b.Run(c.how, func(b *testing.B) {
			d, err := c.open()
			require.NoError(b, err)
			defer func() { require.NoError(b, d.Close()) }()
			token, err := fencing.FromUint64(d.Last("r").Token.Uint64() + 1)
			require.NoError(b, err)
			for next := fencing.NewSequencer(token); b.Loop(); {
				_, err := d.Do(b.Context(), door.Command{Resource: "r", Stamp: next.Next()}, write)
				require.NoError(b, err)
			}
		})
	}
}
