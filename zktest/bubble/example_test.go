package bubble_test

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest/bubble"
)

// cutOff is a test in virtual time: a host is cut off for a minute, and its session
// ends after its 30 seconds, to a second. It takes some milliseconds.
func cutOff(b *bubble.B) {
	open := func(host string) *zk.Conn {
		conn, events, err := zk.Connect(b.Servers(), 30*time.Second, zk.WithDialer(b.Dialer(host)))
		require.NoError(b.T, err)
		b.Cleanup(func() {
			conn.Close()
			for range events { // closed once the client has ended
			}
		})
		return conn
	}
	_, err := open("a").Create("/leader", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(b.T, err)
	_, _, gone, err := open("b").GetW("/leader")
	require.NoError(b.T, err)

	b.Net.Partition("a", b.Server.Addr())
	cut := time.Now()
	require.Equal(b.T, zk.EventNodeDeleted, (<-gone).Type)
	require.InDelta(b.T, 30, time.Since(cut).Seconds(), 1)
}

// In a test file this stands in func TestCutOff(t *testing.T).
func ExampleRun() {
	var t *testing.T // the test's own
	bubble.Run(t, cutOff)
}
