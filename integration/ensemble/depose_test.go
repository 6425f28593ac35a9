package ensemble_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
)

// Two lead at once: the old one answers reads and Syncs, and does not know what
// the new one has committed. A write through it never ends well.
func TestADeposedLeaderDoesNotNotice(t *testing.T) {
	shared.Close(t) // one ensemble at a time is enough for a small machine
	ens := ensemble.New(t, ensemble.WithSyncLimit(300))
	before, err := ens.Leader(t.Context())
	require.NoError(t, err)
	conn := dial(t, 60*time.Second, before.Addr())

	old, err := ens.Depose(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, old)
	next, err := ens.Leader(t.Context())
	require.NoError(t, err)
	require.NotEqual(t, old, next)
	require.Equal(t, "leader", mode(t, next))
	require.Equal(t, "leader", mode(t, old))

	write(t, dial(t, 10*time.Second, next.Addr()), "/committed")
	_, err = conn.Sync("/")
	require.NoError(t, err)
	exists, _, err := conn.Exists("/committed")
	require.NoError(t, err)
	require.False(t, exists)

	wrote := make(chan error, 1)
	go func() {
		_, err := conn.Create("/never", nil, 0, zk.WorldACL(zk.PermAll))
		wrote <- err
	}()
	select {
	case err := <-wrote:
		require.Error(t, err)
	case <-time.After(500 * time.Millisecond):
	}
	require.NoError(t, old.HealQuorum(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	require.Equal(t, "follower", mode(t, old))
	exists, _, err = dial(t, 10*time.Second, next.Addr()).Exists("/never")
	require.NoError(t, err)
	require.False(t, exists)
	conn.Close()
	require.Error(t, <-wrote)
}
