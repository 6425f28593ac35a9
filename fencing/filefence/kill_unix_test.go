//go:build unix

package filefence

import (
	"context"
	"errors"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// A crash between "remember" and "write", at every point that there is (case 25).
func TestAProcessKilledAtAnyStepLeavesContentAndStampTogether(t *testing.T) {
	var steps []string
	applied := 0
	for n := 1; n < 50; n++ {
		dir := t.TempDir()
		g := open(t, dir)
		require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x1:1"), text("first")))

		cmd, out := start(t, "die", dir, strconv.Itoa(n))
		step := ""
		for out.Scan() {
			step = out.Text()
		}
		if err := cmd.Wait(); err == nil {
			require.Equal(t, "second", content(t, dir, file))
			break // it had no nth step
		}
		require.Equal(t, syscall.SIGKILL, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
		steps = append(steps, step)

		byName := content(t, dir, file)
		require.Contains(t, []string{"first", "second"}, byName, "killed before %s", step)
		remembered := last(t, g, file) // finishes what was begun
		after := content(t, dir, file)
		if remembered == stamp(t, "0x2:1") {
			applied++
			require.Equal(t, "second", after, "killed before %s", step)
		} else {
			require.Contains(t, []fencing.Stamp{stamp(t, "0x1:1"), stamp(t, "0x2:0")}, remembered, "killed before %s", step)
			require.Equal(t, "first", byName, "killed before %s", step)
			require.Equal(t, "first", after, "killed before %s", step)
		}

		err := g.Publish(t.Context(), file, stamp(t, "0x2:1"), text("second"))
		if remembered == stamp(t, "0x2:1") {
			require.ErrorIs(t, err, fencing.ErrDuplicate, "killed before %s", step)
		} else {
			require.NoError(t, err, "killed before %s", step)
		}
		require.Equal(t, "second", content(t, dir, file))
		require.ErrorIs(t, g.Publish(t.Context(), file, stamp(t, "0x1:2"), text("late")), fencing.ErrStale)
		require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x2:2"), text("third")))
		require.Empty(t, bodies(t, dir, file), "killed before %s", step)
	}
	t.Logf("%d steps, applied after %d: %q", len(steps), applied, steps)
	require.Equal(t, "rename new-", steps[len(steps)-2], "of %q", steps)
	require.Equal(t, 3, applied, "the command is applied from the memory's rename on, and not before")
}

// A process that was stopped for good must not keep its successors out: the kernel
// drops its lock when it dies, whatever it was doing.
func TestAKilledProcessGivesUpTheLock(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x1:1"), text("first")))
	cmd, out := start(t, "hold", dir, "rename new-")
	require.True(t, out.Scan())
	require.Equal(t, "holding", out.Text())

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := g.Raise(ctx, file, stamp(t, "0x3:0").Token)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "another process has it")
	require.Equal(t, "first", content(t, dir, file))

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	require.NoError(t, g.Raise(t.Context(), file, stamp(t, "0x3:0").Token))
	require.Equal(t, "second", content(t, dir, file), "it was applied before the floor rose, and whoever raised it reads it")
	require.Equal(t, stamp(t, "0x3:0"), last(t, g, file))
}

// Each step fails once, as on a full disk, or from there on, as on a read-only one.
func TestAFailedStepPublishesNothingOrSaysThatItMayHave(t *testing.T) {
	for _, forEver := range []bool{false, true} {
		clear, unknown := 0, 0
		for n := 1; ; n++ {
			require.Less(t, n, 50)
			dir := t.TempDir()
			g := open(t, dir)
			require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x1:1"), text("first")))
			count, failed := 0, ""
			g.step = func(what string) error {
				if count++; count == n || forEver && count > n {
					if failed == "" {
						failed = what
					}
					return syscall.ENOSPC
				}
				return nil
			}
			err := g.Publish(t.Context(), file, stamp(t, "0x2:1"), text("second"))
			g.step = func(string) error { return nil }
			if failed == "" {
				require.NoError(t, err)
				break
			}
			require.ErrorIs(t, err, syscall.ENOSPC, "at %s", failed)
			require.ErrorContains(t, err, file)
			retry := g.Publish(t.Context(), file, stamp(t, "0x2:1"), text("second"))
			if errors.Is(err, fencing.ErrUnknownOutcome) {
				unknown++
				if retry != nil {
					require.ErrorIs(t, retry, fencing.ErrDuplicate, "at %s", failed)
				}
			} else {
				clear++
				require.NoError(t, retry, "at %s: it was said that nothing had been published", failed)
			}
			require.Equal(t, "second", content(t, dir, file), "at %s", failed)
			require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x2:2"), text("third")))
			require.Equal(t, "third", content(t, dir, file))
			require.Empty(t, bodies(t, dir, file), "at %s", failed)
		}
		t.Logf("failing for ever %t: %d steps clear, %d unknown", forEver, clear, unknown)
		require.Greater(t, clear, unknown)
		require.Positive(t, unknown)
	}
}
