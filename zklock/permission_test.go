package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// grants has the lock's directory grant everybody perms, whether it exists or not.
func (w *world) grants(c *zkconn.Client, perms int32) {
	w.T.Helper()
	s, err := c.Internal().Session(w.ctx)
	require.NoError(w.T, err)
	if !w.Server.Exists(path) {
		require.NoError(w.T, w.Server.Create(path, nil))
	}
	_, err = session.Call(w.ctx, s, func(c *zk.Conn) (*zk.Stat, error) {
		return c.SetACL(path, zk.WorldACL(perms), -1)
	})
	require.NoError(w.T, err)
}

// The directory was made by somebody else and has no DELETE for us. The delete
// was retried in silence: Unlock waited for as long as the session lived, Do
// returned nil after a whole timeout, and the next Do waited behind our own node.
func TestWithoutDeleteOnTheDirectory(t *testing.T) {
	const noDelete = zk.PermAll &^ zk.PermDelete

	refused := func(t *testing.T, err error, since time.Time) {
		require.ErrorIs(t, err, zk.ErrNoAuth)
		require.ErrorContains(t, err, " "+path+"/_c_")
		require.ErrorContains(t, err, "-lock-0000000000 (")
		require.ErrorContains(t, err, "give this client DELETE on the directory")
		require.Less(t, time.Since(since), T/100)
	}

	t.Run("UnlockSaysSoAtOnceAndSucceedsOnceItMay", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			a, b := w.dial("a"), w.dial("b")
			w.grants(a, noDelete)
			h := w.lock(w.mutex(a))
			next := w.start(w.ctx, w.mutex(b))
			start := time.Now()
			err := h.Unlock(w.ctx)
			refused(t, err, start)
			require.ErrorContains(t, err, "zklock: unlock "+path+": the server refuses to delete ")
			ended, cancel := context.WithCancel(w.ctx)
			cancel()
			require.ErrorIs(t, h.Unlock(ended), zk.ErrNoAuth, "the refusal says more than ctx's end")
			require.Equal(t, zklock.Releasing, h.State())
			w.grants(a, zk.PermAll)
			w.pass(2 * T)
			require.NoError(t, h.Unlock(w.ctx), "the delete was tried again")
			require.NoError(t, next.err)
			require.NoError(t, next.hold.Unlock(w.ctx))
		})
	})

	t.Run("DoJoinsTheRefusalToFnsError", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			a := w.dial("a")
			w.grants(a, noDelete)
			start := time.Now()
			err := w.mutex(a).Do(w.ctx, func(context.Context, *zklock.Hold) error { return errEnough })
			refused(t, err, start)
			require.ErrorIs(t, err, errEnough)
		})
	})

	t.Run("DoFailsWhereFnDidNot", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			a := w.dial("a")
			w.grants(a, noDelete)
			start := time.Now()
			refused(t, w.mutex(a).Do(w.ctx, func(context.Context, *zklock.Hold) error { return nil }), start)
		})
	})

	t.Run("TryLockSaysThatItsOwnNodeStays", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			a, b := w.dial("a"), w.dial("b")
			w.grants(a, noDelete)
			w.lock(w.mutex(a))
			start := time.Now()
			_, err := w.mutex(b).TryLock(w.ctx)
			require.ErrorIs(t, err, zklock.ErrLocked)
			require.ErrorIs(t, err, zk.ErrNoAuth)
			require.Less(t, time.Since(start), T/100)
			require.Equal(t, 2, w.contenders())
		})
	})
}
