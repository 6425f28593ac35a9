package zktest_test

import (
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

var everyone = zk.WorldACL(zk.PermAll)

// TestGoZookeeper runs the client that most Go programs use.
func TestGoZookeeper(t *testing.T) {
	t.Run("OperationsOverTCP", func(t *testing.T) {
		s := zktest.New(t)
		c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
		require.NoError(t, err)
		defer c.Close()
		operate(t, c)
	})

	t.Run("FourLetterWords", func(t *testing.T) {
		s := zktest.New(t)
		c, _, err := zk.Connect([]string{s.Addr()}, 10*time.Second, zk.WithLogger(quiet{}))
		require.NoError(t, err)
		defer c.Close()
		_, err = c.Sync("/")
		require.NoError(t, err)
		require.Equal(t, []bool{true}, zk.FLWRuok([]string{s.Addr()}, time.Second))
		// It cannot read the line about itself, which every server's answer has.
		list, _ := zk.FLWCons([]string{s.Addr()}, time.Second)
		require.Len(t, list[0].Clients, 1)
		require.Equal(t, c.SessionID(), list[0].Clients[0].SessionID)
		require.Equal(t, 10*time.Second, time.Duration(list[0].Clients[0].Timeout)*time.Millisecond)
	})

	t.Run("OperationsInVirtualTime", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, _ := w.zk("A", 10*time.Second)
			operate(t, c)
		})
	})

	t.Run("KeepsItsSessionByPinging", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, _ := w.zk("A", 4*time.Second)
			time.Sleep(time.Hour)
			require.Equal(t, zk.StateHasSession, c.State())
			require.Equal(t, 1, w.srv.Count(zktest.OpCreateSession))
		})
	})

	t.Run("RearmsItsWatchesOnANewConnection", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, states := w.zk("A", 10*time.Second)
			_, err := c.Create("/kept", nil, 0, everyone)
			require.NoError(t, err)
			_, _, kept, err := c.GetW("/kept")
			require.NoError(t, err)
			_, _, gone, err := c.ExistsW("/gone")
			require.NoError(t, err)
			_, _, children, err := c.ChildrenW("/")
			require.NoError(t, err)
			require.Equal(t, 3, w.srv.Watches())
			w.srv.Cut()
			await(t, states, zk.StateHasSession)
			time.Sleep(time.Second)
			require.Equal(t, 3, w.srv.Watches())
			require.NoError(t, w.srv.Create("/gone", nil))
			require.Equal(t, zk.EventNodeCreated, (<-gone).Type)
			require.Equal(t, zk.EventNodeChildrenChanged, (<-children).Type)
			require.NoError(t, w.srv.Delete("/kept"))
			require.Equal(t, zk.EventNodeDeleted, (<-kept).Type)
			require.Zero(t, w.srv.Watches())
		})
	})

	t.Run("HearsOfWhatItMissed", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, states := w.zk("A", 10*time.Second)
			_, err := c.Create("/n", nil, 0, everyone)
			require.NoError(t, err)
			_, _, missed, err := c.GetW("/n")
			require.NoError(t, err)
			w.srv.Refuse(true)
			w.srv.Cut()
			await(t, states, zk.StateDisconnected)
			require.NoError(t, w.srv.Delete("/n"))
			w.srv.Refuse(false)
			require.Equal(t, zk.EventNodeDeleted, (<-missed).Type)
		})
	})

	t.Run("LearnsOfItsExpiryWhenItComesBack", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, states := w.zk("A", 4*time.Second)
			_, err := c.Create("/e", nil, zk.FlagEphemeral, everyone)
			require.NoError(t, err)
			w.net.Partition("A", "192.0.2.1")
			time.Sleep(5 * time.Second)
			require.False(t, w.srv.Exists("/e"))
			w.net.HealAll()
			await(t, states, zk.StateExpired)
		})
	})

	t.Run("PresentsItsCredentialsAgain", func(t *testing.T) {
		inScene(t, func(w *scene) {
			c, states := w.zk("A", 10*time.Second)
			require.NoError(t, c.AddAuth("digest", []byte("ann:secret")))
			_, err := c.Create("/mine", nil, 0, zk.AuthACL(zk.PermAll))
			require.NoError(t, err)
			other, _ := w.zk("B", 10*time.Second)
			_, _, err = other.Get("/mine")
			require.ErrorIs(t, err, zk.ErrNoAuth)
			w.srv.Cut()
			await(t, states, zk.StateHasSession)
			_, _, err = c.Get("/mine")
			require.NoError(t, err)
		})
	})
}

// operate makes one of each operation.
func operate(t *testing.T, c *zk.Conn) {
	path, err := c.Create("/d", []byte("data"), 0, everyone)
	require.NoError(t, err)
	require.Equal(t, "/d", path)
	path, err = c.Create("/d/n-", nil, zk.FlagEphemeral|zk.FlagSequence, everyone)
	require.NoError(t, err)
	require.Equal(t, "/d/n-0000000000", path)
	_, err = c.CreateContainer("/c", nil, zk.FlagContainer, everyone)
	require.NoError(t, err)
	data, stat, err := c.Get("/d")
	require.NoError(t, err)
	require.Equal(t, "data", string(data))
	require.EqualValues(t, 1, stat.NumChildren)
	_, stat, err = c.Exists(path)
	require.NoError(t, err)
	require.Equal(t, c.SessionID(), stat.EphemeralOwner)
	children, _, err := c.Children("/d")
	require.NoError(t, err)
	require.Equal(t, []string{"n-0000000000"}, children)
	_, err = c.Set("/d", nil, 9)
	require.ErrorIs(t, err, zk.ErrBadVersion)
	_, err = c.Sync("/d")
	require.NoError(t, err)
	results, err := c.Multi(&zk.CreateRequest{Path: "/d/n-", Acl: everyone, Flags: 3}, &zk.SetDataRequest{Path: "/d", Version: -1})
	require.NoError(t, err)
	_, stat, err = c.Exists(results[0].String)
	require.NoError(t, err)
	require.Equal(t, stat.Czxid, results[1].Stat.Mzxid)
	results, err = c.Multi(&zk.CheckVersionRequest{Path: "/d", Version: -1}, &zk.DeleteRequest{Path: "/none", Version: -1})
	require.ErrorIs(t, err, zk.ErrNoNode)
	require.NoError(t, results[0].Error)
	require.ErrorIs(t, results[1].Error, zk.ErrNoNode)
	require.ErrorIs(t, c.Delete("/d", -1), zk.ErrNotEmpty)
	acl, _, err := c.GetACL("/d")
	require.NoError(t, err)
	require.Equal(t, everyone, acl)
	path, err = c.CreateTTL("/ttl-", nil, zk.FlagPersistentSequentialWithTTL, everyone, time.Hour)
	require.NoError(t, err)
	require.Equal(t, "/ttl-0000000002", path)
	_, err = c.SetACL("/d", zk.WorldACL(zk.PermRead), 0)
	require.NoError(t, err)
	_, err = c.Set("/d", nil, -1)
	require.ErrorIs(t, err, zk.ErrNoAuth)
	_, err = c.IncrementalReconfig(nil, []string{"2"}, -1)
	require.ErrorIs(t, err, zk.ErrReconfigDisabled)
}

// What virtual time cannot show is two things in one instant.
func TestManyClientsAtOnce(t *testing.T) {
	s := zktest.New(t)
	require.NoError(t, s.Create("/d", nil))
	const clients, rounds = 16, 100
	var wg sync.WaitGroup
	for range clients {
		c := connectRaw(t, s.Addr())
		wg.Go(func() {
			for range rounds {
				path := c.must(zktest.OpCreate, create("/d/", "", 3, open...)).path()
				c.must(zktest.OpGetChildren, watched("/d", true))
				c.must(zktest.OpDelete, versioned(path, -1))
			}
			c.must(zktest.OpCloseSession, nil)
		})
	}
	wg.Wait()
	_, stat, err := s.Get("/d")
	require.NoError(t, err)
	require.EqualValues(t, 2*clients*rounds, stat.Cversion)
	require.Empty(t, s.Sessions())
	require.Equal(t, clients*rounds, s.Count(zktest.OpDelete))
}
