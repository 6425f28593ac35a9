package casfence

import (
	"bytes"
	"context"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// A guarded content in files against a Put of the same: one Put more, the pointer's.
func BenchmarkPublish(b *testing.B) {
	content := bytes.Repeat([]byte("x"), 4<<10)
	store := func(b *testing.B) *Files {
		f, err := OpenFiles(b.TempDir())
		require.NoError(b, err)
		b.Cleanup(func() { _ = f.Close() })
		return f
	}
	b.Run("Bare", func(b *testing.B) {
		f := store(b)
		n := 0
		for b.Loop() {
			n++
			_, err := f.Put(b.Context(), "bare/"+strconv.Itoa(n), content, "")
			require.NoError(b, err)
		}
	})
	b.Run("Guarded", func(b *testing.B) {
		g := guardOf(b, store(b))
		q := fencing.NewSequencer(stamp(b, "0x7:0").Token)
		for b.Loop() {
			require.NoError(b, g.Publish(b.Context(), "r", q.Next(), func(context.Context) ([]byte, error) { return content, nil }))
		}
	})
}
