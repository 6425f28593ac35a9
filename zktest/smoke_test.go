package zktest_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

func dial(t *testing.T, s *zktest.Server) *zk.Conn {
	t.Helper()
	up := make(chan struct{}, 1)
	c, _, err := zk.Connect([]string{s.Addr()}, 5*time.Second, zk.WithLogger(quiet{}), zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			select {
			case up <- struct{}{}:
			default:
			}
		}
	}))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	<-up
	return c
}

func TestSmoke(t *testing.T) {
	s := zktest.New(t)
	c := dial(t, s)
	acl := zk.WorldACL(zk.PermAll)
	p, err := c.Create("/a", []byte("x"), 0, acl)
	require.NoError(t, err)
	require.Equal(t, "/a", p)
	_, _, w, err := c.GetW("/a")
	require.NoError(t, err)
	p, err = c.Create("/a/n-", nil, 3, acl)
	require.NoError(t, err)
	require.Equal(t, "/a/n-0000000000", p)
	res, err := c.Multi(&zk.CreateRequest{Path: "/a/m-", Acl: acl, Flags: 3}, &zk.SetDataRequest{Path: "/a", Version: -1})
	require.NoError(t, err)
	_, st, err := c.Get(res[0].String)
	require.NoError(t, err)
	require.Equal(t, st.Czxid, res[1].Stat.Mzxid)
	require.Equal(t, zk.EventNodeDataChanged, (<-w).Type)
	s.DropReply(zktest.OpDelete, 1)
	err = c.Delete(p, -1)
	require.Error(t, err)
	require.False(t, s.Exists(p))
	_, err = c.CreateContainer("/c", nil, zk.FlagTTL, acl)
	t.Log(err)
	t.Log(s.Trace(50))
}
