package filefence

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// mounted is a file system of 64 KiB.
func mounted(t *testing.T) (dir string, remount func(flags uintptr)) {
	t.Helper()
	dir = t.TempDir()
	mount := func(flags uintptr) error { return syscall.Mount("tmpfs", dir, "tmpfs", flags, "size=64k") }
	if err := mount(0); errors.Is(err, syscall.EPERM) {
		t.Skipf("only root may mount here: %v", err)
	} else {
		require.NoError(t, err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir, func(flags uintptr) { require.NoError(t, mount(syscall.MS_REMOUNT|flags)) }
}

func TestAFullDisk(t *testing.T) {
	dir, _ := mounted(t)
	g := open(t, dir)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))

	err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text(strings.Repeat("x", 1<<20)))
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.Equal(t, "first", content(t, dir, "r"))
	require.Empty(t, bodies(t, dir, "r"), "the half that was written takes up the room")
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))

	filler, err := os.Create(filepath.Join(dir, "filler"))
	require.NoError(t, err)
	for err == nil {
		_, err = io.WriteString(filler, strings.Repeat("x", 4096))
	}
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.NoError(t, filler.Close())
	for range 3 {
		for what, err := range map[string]error{
			"Publish": g.Publish(t.Context(), "r", stamp(t, "0x1:3"), text("third")),
			"Raise":   g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token),
			"ByNewer": g.Publish(t.Context(), "r", stamp(t, "0x2:1"), func(io.Writer) error { panic("it ran on a floor that is not remembered") }),
		} {
			require.ErrorIs(t, err, syscall.ENOSPC, what)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, what)
			require.Regexp(t, `"r"|/r/`, err.Error(), what)
		}
		require.Equal(t, "second", content(t, dir, "r"))
		require.Equal(t, stamp(t, "0x1:2"), last(t, g, "r"))
	}
	require.NoError(t, os.Remove(filler.Name()))
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:3"), text("third")))
	require.Equal(t, "third", content(t, dir, "r"))
	require.Empty(t, bodies(t, dir, "r"))
}

func TestAReadOnlyDisk(t *testing.T) {
	dir, remount := mounted(t)
	g := open(t, dir)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	remount(syscall.MS_RDONLY)
	for what, err := range map[string]error{
		"Publish": g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")),
		"Raise":   g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token),
		"New":     g.Publish(t.Context(), "new", stamp(t, "0x1:1"), text("first")),
	} {
		require.ErrorIs(t, err, syscall.EROFS, what)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, what)
	}
	require.Equal(t, "first", content(t, dir, "r"))
	remount(0)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("second")))
	require.Equal(t, "second", content(t, dir, "r"))
}
