//go:build unix

package filefence

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// Bodies of others were opened for writing, only to see whether their writers live.
// With WithMode(0o444), or among the users of one group, that is forbidden: while one
// owner wrote, nobody else could publish, and once it was killed nobody ever could.
func TestABodyThatMayNotBeWrittenKeepsNobodyOut(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	t.Run("ByTheGuardsMode", func(t *testing.T) {
		dir := t.TempDir()
		old, next := open(t, dir, WithMode(0o444)), open(t, dir, WithMode(0o444))
		err := old.Publish(t.Context(), file, stamp(t, "0x1:1"), func(w io.Writer) error {
			require.NoError(t, next.Publish(t.Context(), file, stamp(t, "0x2:1"), text("next")))
			require.Len(t, bodies(t, dir, file), 1, "the body of a writer that lives was cleaned away")
			return text("late")(w)
		})
		require.ErrorIs(t, err, fencing.ErrStale)
		require.Equal(t, "next", content(t, dir, file))
		require.Empty(t, bodies(t, dir, file))
	})
	for name, c := range map[string]struct {
		mode fs.FileMode
		left int // of what a dead writer leaves
	}{"MayBeRead": {0o444, 0}, "MayNotEvenBeRead": {0, 1}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := open(t, dir)
			cmd, out := start(t, "hold", dir, "sync "+bodyPrefix)
			require.True(t, out.Scan())
			body := filepath.Join(dir, home, file, bodies(t, dir, file)[0])
			require.NoError(t, os.Chmod(body, c.mode))
			require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x3:1"), text("3")))
			require.FileExists(t, body, "its writer lives")

			require.NoError(t, cmd.Process.Kill())
			require.Error(t, cmd.Wait())
			require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x3:2"), text("4")))
			require.Equal(t, "4", content(t, dir, file))
			require.Len(t, bodies(t, dir, file), c.left)
			if c.left > 0 {
				require.NoError(t, os.Chmod(body, 0o444))
				require.NoError(t, g.Publish(t.Context(), file, stamp(t, "0x3:3"), text("5")))
				require.Empty(t, bodies(t, dir, file), "somebody may read it")
			}
		})
	}
}

// asNobody runs t again in a process of a user to whom modes apply; to root they do not.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	top := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(top), 0o755)) // it must be entered
	require.NoError(t, os.Chmod(top, 0o777))
	// The test binary is in a folder of root's own.
	self, err := os.Executable()
	require.NoError(t, err)
	binary, err := os.ReadFile(self)
	require.NoError(t, err)
	again := filepath.Join(top, "again.test")
	require.NoError(t, os.WriteFile(again, binary, 0o755))
	require.NoError(t, os.Chmod(again, 0o755)) // whatever the umask

	cmd := exec.CommandContext(t.Context(), again, "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "TMPDIR="+top)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Skipf("SKIPPED: root may become no other user here: %v", err)
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: "+t.Name(), "it did not run")
}
