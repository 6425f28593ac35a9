package znodefence_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

func (w *world) do(s fencing.Stamp, f func(context.Context, *znodefence.Tx) error) error {
	return w.guard.Do(w.Context(), znodefence.Command{Resource: "the report", Stamp: s}, f)
}

// To a server version -1 is any version: the write would go over whatever is there.
func TestAVersionThatWasNotReadIsRefused(t *testing.T) {
	w := newWorld(t)
	for name, stat := range map[string]*zk.Stat{"Nil": nil, "Empty": {}, "AnyVersion": {Version: -1}, "AnyVersionOfOne": {Version: -1, Czxid: 7}} {
		for what, write := range map[string]func(*znodefence.Tx){
			"Set":    func(tx *znodefence.Tx) { tx.Set(report, nil, stat) },
			"Delete": func(tx *znodefence.Tx) { tx.Delete(report, stat) },
			"Check":  func(tx *znodefence.Tx) { tx.Check(report, stat) },
		} {
			err := w.do(at(t, 10, 1), func(_ context.Context, tx *znodefence.Tx) error {
				tx.Create("/other", nil, nil)
				write(tx)
				return nil
			})
			require.ErrorIs(t, err, znodefence.ErrNotRead, "%s %s", what, name)
			require.ErrorContains(t, err, report)
		}
	}
	require.False(t, w.Exists("/other"))
	w.reportIs("empty")
	w.lastIs(at(t, 10, 0))
}

func TestBadPathsAreRefused(t *testing.T) {
	w := newWorld(t)
	for path, why := range map[string]string{
		"": "is empty", "report": "absolute", "/report/": "end with /",
		"/guards": "memories stand below", "/guards/the%20report": "memories stand below",
	} {
		require.ErrorContains(t, w.do(at(t, 10, 1), func(_ context.Context, tx *znodefence.Tx) error {
			tx.Create(path, nil, nil)
			return nil
		}), why, path)
	}
	require.Error(t, w.do(at(t, 10, 1), nil))
	for _, dir := range []string{"", "guards", "/", "/guards/"} {
		_, err := znodefence.New(w.client, dir)
		require.ErrorContains(t, err, "dir = ", dir)
	}
	for _, c := range []*zkconn.Client{nil, {}} {
		_, err := znodefence.New(c, "/guards")
		require.ErrorContains(t, err, "zkconn.Dial")
	}
}

// One of several writes fails: none is applied, and the Stamp may try again.
func TestAWriteThatFailsLeavesNothing(t *testing.T) {
	w := newWorld(t)
	old := w.stat(report)
	require.NoError(t, w.Set(report, []byte("by hand")))
	for _, c := range []struct {
		path string
		is   error
		do   func(*znodefence.Tx)
	}{
		{report, zk.ErrBadVersion, func(tx *znodefence.Tx) { tx.Set(report, nil, old) }},
		{report, zk.ErrBadVersion, func(tx *znodefence.Tx) { tx.Check(report, old) }},
		{report, zk.ErrBadVersion, func(tx *znodefence.Tx) { tx.Delete(report, old) }},
		{report, zk.ErrNodeExists, func(tx *znodefence.Tx) { tx.Create(report, nil, nil) }},
		{"/a/b", zk.ErrNoNode, func(tx *znodefence.Tx) { tx.Create("/a/b", nil, nil) }},
	} {
		err := w.do(at(t, 10, 1), func(_ context.Context, tx *znodefence.Tx) error {
			tx.Create("/other", nil, nil)
			c.do(tx)
			return nil
		})
		var failed *znodefence.WriteError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, c.path, failed.Path)
		require.ErrorIs(t, err, c.is)
		require.False(t, w.Exists("/other"))
		w.lastIs(at(t, 10, 0))
	}
	require.NoError(t, w.do(at(t, 10, 1), func(ctx context.Context, tx *znodefence.Tx) error {
		names, err := tx.Children(ctx, "/")
		if err != nil {
			return err
		}
		require.Contains(t, names, "report")
		_, read, err := tx.Get(ctx, report)
		if err != nil {
			return err
		}
		tx.Check(report, read)
		tx.Create("/other", []byte("x"), nil)
		tx.Delete(report, read)
		return nil
	}))
	require.False(t, w.Exists(report))
	require.True(t, w.Exists("/other"))
	w.lastIs(at(t, 10, 1))
}

func TestBadCommands(t *testing.T) {
	w := newWorld(t)
	h := w.lock()
	require.ErrorContains(t, w.publish(t.Context(), w.guard, h, at(t, 1<<40, 1), "forged", nil), "not of its owner")
	w.lastIs(fencing.Stamp{})

	require.NoError(t, w.Create("/guards", nil))
	require.NoError(t, w.Create("/guards/the%20report", []byte("a note of somebody's")))
	err := w.write(at(t, 10, 1), "x")
	require.ErrorContains(t, err, "/guards/the%20report")
	require.ErrorContains(t, err, "a note")
	require.Error(t, w.guard.Raise(t.Context(), "the report", at(t, 10, 1).Token))
	w.reportIs("empty")
}

// A client that may not write is told at once, not after a thousand tries.
func TestAReadOnlyClientIsToldSo(t *testing.T) {
	w := newWorld(t)
	s, err := w.client.Session(t.Context())
	require.NoError(t, err)
	_, err = zkconn.Call(t.Context(), s, func(c *zk.Conn) (string, error) {
		return c.Create("/guards", nil, 0, zk.WorldACL(zk.PermRead))
	})
	require.NoError(t, err)
	before := w.Count(zktest.AnyOp)
	err = w.write(at(t, 10, 1), "x")
	require.ErrorIs(t, err, zk.ErrNoAuth)
	require.ErrorContains(t, err, "the report")
	require.Less(t, w.Count(zktest.AnyOp)-before, 10)
	w.reportIs("empty")
}

func TestAClosedClientIsToldSo(t *testing.T) {
	w := newWorld(t)
	c, g := w.another()
	require.NoError(t, c.Close(t.Context()))
	require.ErrorIs(t, w.publish(t.Context(), g, nil, at(t, 10, 1), "x", nil), zkconn.ErrClosed)
	require.ErrorIs(t, g.Raise(t.Context(), "the report", at(t, 10, 1).Token), zkconn.ErrClosed)
}

// A command costs one round trip more than read and write without a guard: the
// memory is read. The first of a token raises the floor as well.
func TestAGuardCostsOneRoundTrip(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	w.ResetCounts()
	require.NoError(t, w.write(at(t, 10, 2), "second"))
	require.Equal(t, 2, w.Count(zktest.OpGetData), "the memory, the report")
	require.Equal(t, 1, w.Count(zktest.OpMulti))
	require.Equal(t, 3, w.Count(zktest.AnyOp)-w.Count(zktest.OpPing))
}

// The right owner's wrong idea of what is there: the Stamp lets it through, the
// version does not.
func TestAVersionRefusesWhatAStampDoesNot(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	read := w.stat(report)
	require.NoError(t, w.write(at(t, 10, 2), "second"))
	err := w.do(at(t, 10, 3), func(_ context.Context, tx *znodefence.Tx) error {
		tx.Set(report, []byte("from memory"), read)
		return nil
	})
	require.ErrorIs(t, err, zk.ErrBadVersion)
	w.reportIs("empty first second")
	errOwn := errors.New("the command's own")
	require.ErrorIs(t, w.do(at(t, 10, 3), func(context.Context, *znodefence.Tx) error { return errOwn }), errOwn)
}
