package casfence

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// breaking is a Files whose nth sync of the folder fails, and no other.
func breaking(t *testing.T, dir string, nth int) *Files {
	t.Helper()
	f, err := OpenFiles(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	f.syncDir = func(d *os.File) error {
		if nth--; nth == 0 {
			return syscall.EIO
		}
		return d.Sync()
	}
	return f
}

// Where the sync of the folder failed, the guard looked, found its write in the
// kernel's cache, and answered that the floor stood or that the command was applied. A
// power cut took that back, and an older owner was let in.
func TestAFolderThatCannotBeSyncedIsNotBelievedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		syncs int
		do    func(*Guard) error
	}{
		"Raise": {1, func(g *Guard) error { return g.Raise(t.Context(), "r", stamp(t, "0x2:0").Token) }},
		// The floor, the content and the pointer.
		"Publish": {3, func(g *Guard) error { return g.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("second")) }},
	} {
		t.Run(name, func(t *testing.T) {
			for nth := 1; nth <= c.syncs+1; nth++ {
				dir := t.TempDir()
				require.NoError(t, guardOf(t, breaking(t, dir, 0)).Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
				f := breaking(t, dir, nth)
				g := guardOf(t, f)
				err := c.do(g)
				if nth > c.syncs {
					require.NoError(t, err)
					break
				}
				broken := func(err error) {
					t.Helper()
					require.ErrorIs(t, err, syscall.EIO, "sync %d", nth)
					require.NotErrorIs(t, err, ErrNotWritten, "sync %d", nth)
					require.NotErrorIs(t, err, ErrConflict, "sync %d", nth)
					require.ErrorContains(t, err, dir)
					require.ErrorContains(t, err, "check the disk")
					require.ErrorContains(t, err, "new process")
				}
				broken(err)
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome, "sync %d", nth)

				// The next sync would succeed, and prove nothing.
				broken(c.do(g))
				_, _, err = f.Get(t.Context(), "a")
				broken(err)
				_, err = f.Put(t.Context(), "a", nil, "")
				broken(err)
				_, err = f.List(t.Context(), "")
				broken(err)
				broken(f.Delete(t.Context(), "a"))
			}
		})
	}
}

// Of two at once the second waits for the lock. That it has written nothing is no
// reason for it to go on by what the first could not sync.
func TestWhoWaitsForTheLockLearnsOfABrokenFolder(t *testing.T) {
	f := breaking(t, t.TempDir(), 0)
	var wg sync.WaitGroup
	var put, deleted error
	f.syncDir = func(*os.File) error {
		wg.Go(func() { _, put = f.Put(t.Context(), "b", []byte("y"), "") })
		wg.Go(func() { deleted = f.Delete(t.Context(), "b") })
		<-time.After(20 * time.Millisecond) // for them to come to the lock; sooner or later is well too
		return syscall.EIO
	}
	_, err := f.Put(t.Context(), "a", []byte("x"), "")
	require.ErrorIs(t, err, syscall.EIO)
	wg.Wait()
	require.ErrorIs(t, put, syscall.EIO)
	require.NotErrorIs(t, put, ErrNotWritten)
	require.ErrorIs(t, deleted, syscall.EIO)
}

// A rename that fails and has been made all the same is found by the guard's look, so
// that it must be durable as well.
func TestARenameThatFailedIsSyncedBeforeItIsBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		nth  int
		want error
	}{"Synced": {0, nil}, "NotSynced": {1, fencing.ErrUnknownOutcome}} {
		t.Run(name, func(t *testing.T) {
			f := breaking(t, t.TempDir(), c.nth)
			f.rename = func(from, to string) error { return errors.Join(f.root.Rename(from, to), errors.New("it failed")) }
			require.ErrorIs(t, guardOf(t, f).Raise(t.Context(), "r", stamp(t, "0x2:0").Token), c.want)
		})
	}
}
