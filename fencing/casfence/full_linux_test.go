package casfence

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/fulldisk"
)

// The half that was written stayed, and took up the room of whatever came next.
func TestAFullDisk(t *testing.T) {
	fulldisk.Alone(t, func() { aFullDisk(t) })
}

func aFullDisk(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFiles(dir)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	g := guardOf(t, f)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	names := func() (all []string) {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			all = append(all, e.Name())
		}
		return all
	}
	unmoved := func(err error, files []string) {
		t.Helper()
		require.ErrorIs(t, err, syscall.EFBIG)
		require.ErrorIs(t, err, ErrNotWritten)
		require.ErrorContains(t, err, `"r"`)
		require.ErrorContains(t, err, filepath.Join(dir, "new"))
		require.ErrorContains(t, err, "try again")
		require.Equal(t, files, names())
		content, last, err := g.Get(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, "first", string(content))
		require.Equal(t, stamp(t, "0x1:1"), last)
	}

	// There is room for the pointer, and none for the content.
	files := names()
	fulldisk.WithRoom(t, 2000, func() {
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text(strings.Repeat("x", 4000)))
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		unmoved(err, files)
	})
	// There is none for a pointer. A new owner's floor cannot be kept: nothing runs.
	fulldisk.WithRoom(t, 20, func() {
		err := g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		unmoved(err, files)
		err = g.Publish(t.Context(), "r", stamp(t, "0x2:1"), func(context.Context) ([]byte, error) { panic("it ran on a floor that is not remembered") })
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		unmoved(err, files)
		// That no earlier try is under way costs a write to be sure of.
		unmoved(g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text(strings.Repeat("x", 4000))), files)
	})
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")), "there is room again")
	content, last, err := g.Get(t.Context(), "r")
	require.NoError(t, err)
	require.Equal(t, "second", string(content))
	require.Equal(t, stamp(t, "0x1:2"), last)
}
