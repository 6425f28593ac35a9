package zktest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// scene is a server on a network of its own, in virtual time.
type scene struct {
	*testing.T
	net *zktest.Network
	srv *zktest.Server
}

const sceneAddr = "192.0.2.1:2181"

func inScene(t *testing.T, run func(w *scene), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := zktest.NewNetwork(1)
		t.Cleanup(n.Close)
		ln, err := n.Listen(sceneAddr)
		require.NoError(t, err)
		run(&scene{T: t, net: n, srv: zktest.New(t, append(opts, zktest.WithListener(ln))...)})
	})
}

// dial opens a connection from a host and says nothing on it.
func (w *scene) dial(host string) *rawClient {
	w.Helper()
	nc, err := w.net.Dialer(host)("tcp", sceneAddr, time.Second)
	require.NoError(w, err)
	return rawOver(w, nc)
}

// raw opens a session from a host.
func (w *scene) raw(host string, timeout time.Duration) *rawClient {
	w.Helper()
	c := w.dial(host)
	_, err := c.handshake(wire.ConnectRequest{TimeoutMs: int32(timeout / time.Millisecond)})
	require.NoError(w, err)
	return c
}

// zk opens a session with go-zookeeper and returns a channel of its states,
// which has room for all that a test will see.
func (w *scene) zk(host string, timeout time.Duration) (*zk.Conn, <-chan zk.State) {
	w.Helper()
	states := make(chan zk.State, 1024)
	c, _, err := zk.Connect([]string{sceneAddr}, timeout, zk.WithDialer(w.net.Dialer(host)), zk.WithLogger(quiet{}),
		zk.WithMaxConnBufferSize(64<<10), zk.WithEventCallback(func(e zk.Event) {
			if e.Type == zk.EventSession {
				states <- e.State
			}
		}))
	require.NoError(w, err)
	w.Cleanup(c.Close)
	await(w, states, zk.StateHasSession)
	return c, states
}

// await reads states until the one wanted; the bubble's own deadlock detection,
// or a minute, ends a wait for one that does not come.
func await(t testing.TB, states <-chan zk.State, want zk.State) {
	t.Helper()
	timeout := time.NewTimer(time.Minute)
	defer timeout.Stop()
	for {
		select {
		case s := <-states:
			if s == want {
				return
			}
		case <-timeout.C:
			require.Failf(t, "state did not come", "%s", want)
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
