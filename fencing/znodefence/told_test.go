package znodefence_test

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The Hold of a Lock whose error was not looked at: it panicked in the command.
func TestAnOwnerThatIsNilIsNamed(t *testing.T) {
	w := newWorld(t)
	for want, owner := range map[string]znodefence.Owner{
		"the owner is a nil *zklock.Hold": (*zklock.Hold)(nil), "the owner is a nil *election.Term": (*election.Term)(nil),
	} {
		err := w.publish(t.Context(), w.guard, owner, at(t, 10, 1), "x", nil)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, "the report")
	}
	w.reportIs("empty")
}

func TestTheMemoryOfAnotherResourceIsNamed(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Create("/guards", nil))
	require.NoError(t, w.Create("/guards/the%20report", []byte(`{"resource":"a copy","last":"0x7:1"}`)))
	err := w.write(at(t, 10, 1), "x")
	require.ErrorContains(t, err, `of resource "a copy", want "the report"`)
	require.NotContains(t, err.Error(), "%!w")
}

// A memory with a field gone was taken for that of a resource nobody had come to, and the
// older owner let in.
func TestADamagedMemoryLetsNobodyIn(t *testing.T) {
	for _, damaged := range []string{`{}`, `null`, `{"x":1}`, `{"resource":"the report"}`, `{"last":"0x7:1"}`, `"x"`, ``} {
		w := newWorld(t)
		require.NoError(t, w.Create("/guards", nil))
		require.NoError(t, w.Create("/guards/the%20report", []byte(damaged)))
		for _, err := range []error{w.write(at(t, 3, 1), "x"), w.guard.Raise(t.Context(), "the report", at(t, 3, 0).Token)} {
			require.ErrorContains(t, err, "no guard's", damaged)
			require.ErrorContains(t, err, "/guards/the%20report", damaged)
		}
		w.reportIs("empty")
	}
}

// setACL changes who may do what with a znode.
func (w *world) setACL(path string, perms int32) {
	w.Helper()
	s, err := w.client.Session(w.Context())
	require.NoError(w, err)
	_, err = zkconn.Call(w.Context(), s, func(c *zk.Conn) (*zk.Stat, error) { return c.SetACL(path, zk.WorldACL(perms), -1) })
	require.NoError(w, err)
}

// A check needs READ. Without it the lock was said to be gone, and its owner stopped.
func TestALockNodeThatCannotBeReadIsNotGone(t *testing.T) {
	w := newWorld(t)
	h := w.lock()
	require.NoError(t, w.publish(t.Context(), w.guard, h, h.Next(), "first", nil))
	node := w.node()
	w.setACL(node, zk.PermDelete|zk.PermAdmin)
	err := w.publish(t.Context(), w.guard, h, h.Next(), "second", nil)
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.NotErrorIs(t, err, znodefence.ErrOwnerGone)
	require.ErrorContains(t, err, node)
	w.reportIs("empty first")
}

// A memory that may be read and not written was tried a thousand times, and then others
// were said to have moved it.
func TestAMemoryThatCannotBeWrittenIsToldAtOnce(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	w.setACL("/guards/the%20report", zk.PermRead)
	before := w.Count(zktest.OpMulti)
	require.ErrorIs(t, w.publish(t.Context(), w.guard, nil, at(t, 10, 2), "second", nil), zk.ErrNoAuth)
	require.Less(t, w.Count(zktest.OpMulti)-before, 3)
	w.reportIs("empty first")
}
