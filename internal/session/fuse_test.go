package session

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/wire"
)

// socket is a peer that never answers and keeps what it was sent.
type socket struct {
	net.Conn
	broken bool // writes fail
	mu     sync.Mutex
	sent   []byte
	closed chan struct{}
	once   sync.Once
}

func (s *socket) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken {
		return 0, net.ErrClosed
	}
	s.sent = append(s.sent, b...)
	return len(b), nil
}

func (s *socket) Read([]byte) (int, error)         { <-s.closed; return 0, net.ErrClosed }
func (s *socket) Close() error                     { s.once.Do(func() { close(s.closed) }); return nil }
func (s *socket) SetReadDeadline(time.Time) error  { return nil }
func (s *socket) SetWriteDeadline(time.Time) error { return nil }

func (s *socket) RemoteAddr() net.Addr { return noAddr{} }

func (s *socket) got() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]byte(nil), s.sent...)
}

// loose is a session without a zk.Conn and without its goroutines.
func loose(t *testing.T) *Session {
	cfg := Config{Servers: []string{"127.0.0.1:1"}, Timeout: testTimeout, Logger: zap.NewNop()}
	require.NoError(t, cfg.settle())
	client := &Client{cfg: cfg}
	client.ctx, client.cancel = context.WithCancelCause(t.Context())
	return newSession(client)
}

// A zk.Conn that is told of a failed write while it presents credentials after a
// reconnect never works again. So the write succeeds and the reader finds out.
func TestAFailedWriteIsNotReportedButEndsTheConnection(t *testing.T) {
	s := loose(t)
	sock := &socket{closed: make(chan struct{}), broken: true}
	c := newConn(s, sock, time.Second)
	require.True(t, s.adopt(c))
	n, err := c.Write(wire.AppendFrame(nil, wire.ConnectRequest{}.Append(nil)))
	require.NoError(t, err)
	require.Positive(t, n)
	_, err = c.Read(make([]byte, 4))
	require.Error(t, err)
	require.Nil(t, s.wire)
}

// A reconnect at which less is granted: what was known before it counts with the
// smaller timeout, at once.
func TestAReconnectThatGrantsLessShortensTrust(t *testing.T) {
	s := loose(t)
	connect := func(timeout time.Duration) *conn {
		c := newConn(s, &socket{closed: make(chan struct{})}, time.Second)
		require.True(t, s.adopt(c))
		require.NoError(t, s.connected(c, wire.ConnectResponse{TimeoutMs: int32(timeout.Milliseconds()), Session: 7, Password: make([]byte, 16)}))
		return c
	}
	c := connect(6 * time.Second)
	_, err := c.Write(wire.AppendFrame(nil, wire.ConnectRequest{}.Append(nil)))
	require.NoError(t, err)
	_, err = c.Write(wire.AppendFrame(nil, wire.RequestHeader{Xid: 1, Op: wire.OpMulti}.Append(nil)))
	require.NoError(t, err)
	s.answered(c, wire.ReplyHeader{Xid: 1})
	require.InDelta(t, 5.7, s.Remaining().Seconds(), 0.2)
	s.down(c)
	connect(3 * time.Second)
	require.Equal(t, 3*time.Second, s.Timeout())
	require.InDelta(t, 2.85, s.Remaining().Seconds(), 0.2)
}

// An end that comes while the dialer pauses must not let it dial once more: that
// connection would be a stranger's to the server, and cost the successor's a turn.
func TestAfterTheEndNobodyIsDialled(t *testing.T) {
	s := loose(t)
	dialled := make(chan struct{}, 100)
	s.client.cfg.Dialer = func(string, string, time.Duration) (net.Conn, error) {
		dialled <- struct{}{}
		return nil, net.ErrClosed
	}
	s.servers.tried = 100 // so that the pause is long
	done := make(chan error, 1)
	go func() {
		_, err := s.dial("tcp", "127.0.0.1:1", 0)
		done <- err
	}()
	select {
	case err := <-done:
		require.FailNow(t, "there was no pause", "%v", err)
	case <-time.After(20 * time.Millisecond):
	}
	s.end(Replaced)
	require.NoError(t, <-done)
	_, err := s.dial("tcp", "127.0.0.1:1", 0)
	require.NoError(t, err)
	require.Empty(t, dialled)
}

// The interleaving that the fuse is there for cannot be had from outside: the
// zk.Conn writes after the session has ended and before the server was told.
func TestAfterTheEndTheGoodbyeIsAllThatLeaves(t *testing.T) {
	s := loose(t)
	sock := &socket{closed: make(chan struct{})}
	c := newConn(s, sock, time.Second)
	require.True(t, s.adopt(c))
	hello := wire.AppendFrame(nil, wire.ConnectRequest{Password: make([]byte, 16)}.Append(nil))
	_, err := c.Write(hello)
	require.NoError(t, err)
	require.Equal(t, hello, sock.got())

	s.end(Replaced)
	request := wire.AppendFrame(nil, wire.RequestHeader{Xid: 1, Op: wire.OpCreate}.Append(nil))
	n, err := c.Write(request)
	require.NoError(t, err, "a zk.Conn whose write fails may never work again, not even its Close")
	require.Equal(t, len(request), n)
	require.Equal(t, hello, sock.got())

	read := make(chan error, 1)
	go func() {
		_, err := io.ReadAll(c)
		read <- err
	}()
	require.False(t, c.farewell(50*time.Millisecond), "nobody answers")
	require.Equal(t, append(hello, goodbye...), sock.got())
	_, err = c.Write(wire.AppendFrame(nil, wire.RequestHeader{Xid: 2, Op: wire.OpCloseSession}.Append(nil)))
	require.NoError(t, err)
	require.NoError(t, <-read, "the zk.Conn sees an ordinary end once it has said goodbye")
	require.Equal(t, append(hello, goodbye...), sock.got())

	sink, err := s.dial("tcp", "127.0.0.1:1", 0)
	require.NoError(t, err)
	_, err = sink.Write(hello)
	require.NoError(t, err)
	payload, err := wire.ReadFrame(sink, 100)
	require.NoError(t, err, "after the end the dialer leads nowhere, by a handshake of its own")
	_, err = wire.ParseConnectResponse(payload)
	require.NoError(t, err)
	require.NoError(t, sink.Close())
}
