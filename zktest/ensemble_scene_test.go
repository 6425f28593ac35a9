package zktest_test

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// The figures that were measured on a real ensemble hold for these: 10 s of
// silence are too much.
const (
	quorumTick      = 2 * time.Second
	quorumSyncLimit = 5
)

// quorum is an ensemble of three in virtual time; the third server leads first.
type quorum struct {
	*testing.T
	net *zktest.Network // nil over TCP
	ens *zktest.Ensemble
	srv []*zktest.Server
}

func inQuorum(t *testing.T, run func(q *quorum), opts ...zktest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := zktest.NewNetwork(1)
		t.Cleanup(n.Close)
		var lns []net.Listener
		for i := range 3 {
			ln, err := n.Listen(fmt.Sprintf("192.0.2.%d:2181", i+1))
			require.NoError(t, err)
			lns = append(lns, ln)
		}
		opts = append([]zktest.Option{zktest.WithTick(quorumTick), zktest.WithSyncLimit(quorumSyncLimit)}, opts...)
		ens := zktest.NewEnsemble(t, 3, append(opts, zktest.WithListeners(lns...))...)
		run(&quorum{T: t, net: n, ens: ens, srv: ens.Servers()})
	})
}

// dial opens a connection to a server and says nothing on it.
func (q *quorum) dial(s *zktest.Server, host string) *rawClient {
	q.Helper()
	nc, err := q.connect(s, host)
	require.NoError(q, err)
	return rawOver(q, nc)
}

func (q *quorum) connect(s *zktest.Server, host string) (net.Conn, error) {
	if q.net == nil {
		return net.Dial("tcp", s.Addr())
	}
	return q.net.Dialer(host)("tcp", s.Addr(), time.Second)
}

// raw opens a session at a server.
func (q *quorum) raw(s *zktest.Server, host string, timeout time.Duration) *rawClient {
	q.Helper()
	c := q.dial(s, host)
	_, err := c.handshake(wire.ConnectRequest{TimeoutMs: int32(timeout / time.Millisecond)})
	require.NoError(q, err)
	require.NotZero(q, c.session)
	return c
}

// back comes to a server with the session that c has.
func (q *quorum) back(s *zktest.Server, host string, c *rawClient) (*rawClient, error) {
	q.Helper()
	n := q.dial(s, host)
	_, err := n.handshake(wire.ConnectRequest{TimeoutMs: int32(c.timeout / time.Millisecond), Session: c.session, Password: c.password})
	return n, err
}

// silent checks that nothing comes on a connection, nor its end, for d.
func (q *quorum) silent(c *rawClient, d time.Duration) {
	q.Helper()
	require.NoError(q, c.nc.SetReadDeadline(time.Now().Add(d)))
	_, err := c.r.Peek(1)
	require.ErrorContains(q, err, "timeout")
}

// leader waits for one.
func (q *quorum) leader() *zktest.Server {
	q.Helper()
	l, err := q.ens.AwaitLeader(q.Context())
	require.NoError(q, err)
	return l
}

// settle lets pass what takes some milliseconds between servers.
func (q *quorum) settle() { time.Sleep(100 * time.Millisecond) }

// exists asks a server by way of a client.
func (q *quorum) exists(c *rawClient, path string) bool {
	q.Helper()
	return c.must(wire.OpExists, watched(path, false)).Err == wire.OK
}

func epochOf(zxid int64) int64 { return zxid >> 32 }
