//go:build unix

package filefence

import (
	"context"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// killed is a folder in which a process, publishing 0x2:1, was killed before its nth
// step; that step.
func killed(t *testing.T, nth int) (dir, step string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, open(t, dir).Publish(t.Context(), file, stamp(t, "0x1:1"), text("first")))
	cmd, out := start(t, "die", dir, strconv.Itoa(nth))
	for out.Scan() {
		step = out.Text()
	}
	require.Error(t, cmd.Wait(), "it had no step %d", nth)
	return dir, step
}

// A process is killed between the memory's rename and the sync of the folder. The next
// one read that memory from the kernel's cache, published its body, and answered "a
// duplicate", or that the floor stood: and a power cut took the memory back, while the
// content was public. The late owner was let in once more, over what it did not know.
func TestWhatAKilledProcessHasNotMadeDurableIsMadeSoBeforeItCounts(t *testing.T) {
	publish := func(g *Guard, s fencing.Stamp) error {
		return g.Publish(context.Background(), file, s, text("third")) // main's
	}
	second := stamp(t, "0x2:1")
	// The steps before which the memory is renamed and its folder not synced: that of
	// the floor, and that of the command.
	var at []int
	for n, before := 1, ""; len(at) < 2; n++ {
		_, step := killed(t, n)
		if before == "rename memory.new" {
			require.Equal(t, "sync folder", step)
			at = append(at, n)
		}
		before = step
	}
	for name, ask := range map[string]struct {
		of   func(*Guard) error
		want error
	}{
		"Duplicate": {func(g *Guard) error { return publish(g, second) }, fencing.ErrDuplicate},
		"Stale":     {func(g *Guard) error { return publish(g, stamp(t, "0x1:2")) }, fencing.ErrStale},
		"Raise":     {func(g *Guard) error { return g.Raise(t.Context(), file, second.Token) }, nil},
		"Last":      {func(g *Guard) error { _, err := g.Last(t.Context(), file); return err }, nil},
		"Overrides": {func(g *Guard) error { _, err := g.Overrides(t.Context(), file); return err }, nil},
		"Open": {func(g *Guard) error {
			f, _, err := g.Open(t.Context(), file)
			if err == nil {
				err = f.Close()
			}
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := killed(t, at[1])
			g := open(t, dir)
			g.step = func(string) error { return syscall.EIO }
			err := ask.of(g)
			require.ErrorIs(t, err, syscall.EIO, "the disk fails: there is nothing to answer by")
			require.NotErrorIs(t, err, fencing.ErrStale)
			require.ErrorContains(t, err, file)
			require.Equal(t, "first", content(t, dir, file), "public before its Stamp is durable")

			var steps []string
			g.step = func(what string) error { steps = append(steps, what); return nil }
			require.ErrorIs(t, ask.of(g), ask.want)
			require.Equal(t, []string{"sync folder", "rename new-", "sync ."}, steps)
			require.Equal(t, "second", content(t, dir, file))
		})
	}
	t.Run("Floor", func(t *testing.T) {
		dir, _ := killed(t, at[0])
		g := open(t, dir)
		var steps []string
		g.step = func(what string) error { steps = append(steps, what); return nil }
		require.NoError(t, g.Raise(t.Context(), file, second.Token))
		require.Equal(t, []string{"sync folder"}, steps)
	})
}
