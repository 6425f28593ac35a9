package zktest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestOperator(t *testing.T) {
	s := zktest.New(t)
	c := connectRaw(t, s.Addr())

	require.NoError(t, s.Create("/a/b/c", []byte("x")))
	require.NoError(t, s.Create("/a/b/c", []byte("y")))
	data, stat, err := s.Get("/a/b/c")
	require.NoError(t, err)
	require.Equal(t, "x", string(data))
	require.Zero(t, stat.Version)
	require.ErrorContains(t, s.Create("/a//b", nil), `"/a//b"`)
	require.Equal(t, []string{"a", "zookeeper"}, s.Children("/"))
	require.Nil(t, s.Children("/none"))

	// Deleting is seen by whoever watches, children first.
	c.must(wire.OpGetData, watched("/a", true))
	c.must(wire.OpGetChildren, watched("/a/b", true))
	require.Equal(t, 2, s.Watches())
	before := s.Zxid()
	require.NoError(t, s.Delete("/a"))
	require.Equal(t, before+3, s.Zxid())
	_, events, err := c.call(wire.OpPing, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		"event type=4 state=3 path=/a/b zxid=-1", "event type=2 state=3 path=/a zxid=-1",
	}, events)
	require.Zero(t, s.Watches())

	// So is what is set, whatever the version.
	require.NoError(t, s.Create("/set", nil))
	c.must(wire.OpGetData, watched("/set", true))
	value := []byte("new")
	require.NoError(t, s.Set("/set", value))
	value[0] = 'X'
	data, stat, err = s.Get("/set")
	require.NoError(t, err)
	require.Equal(t, "new", string(data))
	require.EqualValues(t, 1, stat.Version)
	require.Equal(t, s.Zxid(), stat.Mzxid)
	_, events, err = c.call(wire.OpPing, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"event type=3 state=3 path=/set zxid=-1"}, events)
	require.NoError(t, s.Set("/", value))
	for _, path := range []string{"/none", "", "a", "/set/"} {
		require.ErrorIs(t, s.Set(path, nil), zktest.ErrNoNode, path)
	}

	// No acl keeps an operator out.
	c.must(wire.OpCreate, create("/closed", "", 0, rawACL{0, "world", "anyone"}))
	require.NoError(t, s.Create("/closed/x", nil))
	require.NoError(t, s.Set("/closed", nil))
	require.NoError(t, s.Delete("/closed"))

	require.ErrorIs(t, s.Delete("/a"), zktest.ErrNoNode)
	require.Error(t, s.Delete("/zookeeper"))
	require.Error(t, s.Delete("/"))
	for _, path := range []string{"", "a", "/a/", "//"} {
		require.ErrorIs(t, s.Delete(path), zktest.ErrNoNode, path)
		require.ErrorIs(t, s.SetSequence(path, 1), zktest.ErrNoNode, path)
		require.False(t, s.Exists(path), path)
		require.Empty(t, s.Children(path), path)
	}
	require.ErrorIs(t, s.SetSequence("/a", 1), zktest.ErrNoNode)
	_, _, err = s.Get("/a")
	require.ErrorIs(t, err, zktest.ErrNoNode)
}
