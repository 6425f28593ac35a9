package filefence

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// A guarded file against one that is replaced as safely, without a guard. The guard
// waits for the disk seven times and not twice.
func BenchmarkPublish(b *testing.B) {
	const kib = 4
	content := text(strings.Repeat("x", kib<<10))
	b.Run("Guarded", func(b *testing.B) {
		g := open(b, b.TempDir())
		q := fencing.NewSequencer(stamp(b, "0x7:0").Token)
		for b.Loop() {
			require.NoError(b, g.Publish(b.Context(), "r", q.Next(), content))
		}
	})
	b.Run("Bare", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			f, err := os.CreateTemp(dir, "new")
			require.NoError(b, err)
			require.NoError(b, errors.Join(content(f), f.Sync(), f.Close()))
			require.NoError(b, os.Rename(f.Name(), filepath.Join(dir, "r")))
			d, err := os.Open(dir)
			require.NoError(b, err)
			require.NoError(b, errors.Join(d.Sync(), d.Close()))
		}
	})
}
