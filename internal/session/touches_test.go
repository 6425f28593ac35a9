package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// A server takes credentials without touching the session, unlike every other
// request: a process that stops between handshake and credentials must not count
// from the latter.
func TestCredentialsAreNoTouch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := loose(t)
		c := newConn(s, &socket{closed: make(chan struct{})}, time.Second)
		require.True(t, s.adopt(c))
		ask := func(xid int32, op wire.Op) {
			_, err := c.Write(wire.AppendFrame(nil, wire.RequestHeader{Xid: xid, Op: op}.Append(nil)))
			require.NoError(t, err)
			s.answered(c, wire.ReplyHeader{Xid: xid})
		}
		_, err := c.Write(wire.AppendFrame(nil, wire.ConnectRequest{}.Append(nil)))
		require.NoError(t, err)
		begun := time.Now()
		require.NoError(t, s.connected(c, wire.ConnectResponse{TimeoutMs: int32(testTimeout.Milliseconds()), Session: 7, Password: make([]byte, 16)}))
		time.Sleep(testTimeout / 6)
		ask(1, wire.OpSetAuth)
		time.Sleep(testTimeout / 3)
		ask(2, wire.OpMulti)
		require.Equal(t, testTimeout-testTimeout/20, s.Remaining()+time.Since(begun))
	})
}

// Servers that grant more than before may run with a longer tick, which the first
// grant had ruled out.
func TestAReconnectThatGrantsMoreLengthensTheTick(t *testing.T) {
	s := loose(t)
	for _, grant := range []struct{ timeout, tick time.Duration }{
		{time.Second, 500 * time.Millisecond},
		{6 * time.Second, DefaultTick},
		{time.Second, DefaultTick}, // larger is safe
	} {
		c := newConn(s, &socket{closed: make(chan struct{})}, time.Second)
		require.True(t, s.adopt(c))
		require.NoError(t, s.connected(c, wire.ConnectResponse{TimeoutMs: int32(grant.timeout.Milliseconds()), Session: 7, Password: make([]byte, 16)}))
		require.Equal(t, grant.tick, c.touches.tick)
		s.down(c)
	}
}
