package zktest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// siege is a server in a bubble, an honest client of it, and somebody who sends
// whatever he likes.
type siege struct {
	*testing.T
	net     *Network
	srv     *Server
	witness *honest
}

const siegeAddr = "192.0.2.1:2181"

// underSiege lets assault loose on a server. Afterwards the server's state must
// be sound, the honest client still served, and nothing left of the assailant
// once his session has expired; the bubble sees to it that no goroutine is.
func underSiege(t *testing.T, assault func(s *siege)) {
	synctest.Test(t, func(t *testing.T) {
		n := NewNetwork(1)
		defer n.Close()
		ln, err := n.Listen(siegeAddr)
		require.NoError(t, err)
		srv, err := Start(WithListener(ln), WithContainerInterval(time.Second))
		require.NoError(t, err)
		defer srv.Close()
		s := &siege{T: t, net: n, srv: srv}
		s.witness = s.honest()
		assault(s)
		s.stands()
		// Longer than the longest session, and than a server waits for a handshake.
		s.pass(80 * time.Second)
		s.stands()
		require.Len(t, srv.Sessions(), 1, "the witness is all there is")
		require.Len(t, connected(srv), 1)
		require.Zero(t, srv.Watches())
		_ = s.witness.nc.Close()
	})
}

// pass lets time pass in which the honest client keeps its session.
func (s *siege) pass(d time.Duration) {
	for ; d > 0; d -= 10 * time.Second {
		time.Sleep(min(d, 10*time.Second))
		s.witness.call(wire.OpPing, nil)
	}
}

// stands asserts that the server is sound and answers, and answers the truth.
func (s *siege) stands() {
	s.Helper()
	s.witness.call(wire.OpPing, nil)
	intact(s, s.srv)
	for _, path := range []string{"/", systemPath} { // nobody can delete these
		_, want, err := s.srv.Get(path)
		require.NoError(s, err)
		var e wire.Encoder
		want.encode(&e)
		h, body := s.witness.call(wire.OpExists, func(e *wire.Encoder) { e.String(path); e.Bool(false) })
		require.Equal(s, wire.OK, h.Err)
		require.Equal(s, s.srv.Zxid(), h.Zxid)
		require.Equal(s, e.Buf, body)
	}
}

// dial opens a connection and says nothing on it.
func (s *siege) dial(host string) net.Conn {
	nc, err := s.net.Dialer(host)("tcp", siegeAddr, time.Second)
	require.NoError(s, err)
	s.Cleanup(func() { _ = nc.Close() })
	return nc
}

// hear returns everything that arrives until a second has been silent, or the
// connection has ended, and whether it has.
func (s *siege) hear(nc net.Conn) (heard []byte, ended bool) {
	buf := make([]byte, 64<<10)
	for {
		require.NoError(s, nc.SetReadDeadline(time.Now().Add(time.Second)))
		n, err := nc.Read(buf)
		heard = append(heard, buf[:n]...)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return heard, false
		}
		if err != nil {
			return heard, true
		}
	}
}

// wellFormed asserts that heard is a handshake and replies, every frame whole.
func (s *siege) wellFormed(heard []byte) {
	s.Helper()
	r := bytes.NewReader(heard)
	for n := 0; ; n++ {
		payload, err := wire.ReadFrame(r, 64<<20)
		if err == io.EOF {
			return
		}
		require.NoError(s, err)
		if n == 0 {
			_, err = wire.ParseConnectResponse(payload)
			require.GreaterOrEqual(s, len(payload), 36)
		} else {
			_, err = wire.ParseReplyHeader(payload)
		}
		require.NoError(s, err)
	}
}

// honest is a client that asks one thing at a time.
type honest struct {
	s   *siege
	nc  net.Conn
	r   *bufio.Reader
	xid int32
}

func (s *siege) honest() *honest {
	nc := s.dial("witness")
	h := &honest{s: s, nc: nc, r: bufio.NewReader(nc)}
	_, err := nc.Write(wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: 60_000}.Append(nil)))
	require.NoError(s, err)
	_, err = wire.ReadFrame(h.r, wire.MaxFrame)
	require.NoError(s, err)
	return h
}

func (h *honest) call(op Op, body func(*wire.Encoder)) (wire.ReplyHeader, []byte) {
	h.s.Helper()
	h.xid++
	xid := h.xid
	if op == OpPing {
		xid = wire.XidPing
	}
	_, err := h.nc.Write(wire.AppendFrame(nil, request(xid, op, body)))
	require.NoError(h.s, err)
	payload, err := wire.ReadFrame(h.r, 64<<20)
	require.NoError(h.s, err)
	r, err := wire.ParseReplyHeader(payload)
	require.NoError(h.s, err)
	require.Equal(h.s, xid, r.Xid)
	return r, payload[wire.ReplyHeaderLen:]
}

// events reads as many events.
func (h *honest) events(n int) {
	h.s.Helper()
	for range n {
		payload, err := wire.ReadFrame(h.r, 64<<20)
		require.NoError(h.s, err)
		r, err := wire.ParseReplyHeader(payload)
		require.NoError(h.s, err)
		require.Equal(h.s, wire.XidEvent, r.Xid)
	}
}

// request is the payload of a request.
func request(xid int32, op Op, body func(*wire.Encoder)) []byte {
	e := &wire.Encoder{Buf: wire.RequestHeader{Xid: xid, Op: op}.Append(nil)}
	if body != nil {
		body(e)
	}
	return e.Buf
}

// connected returns the connections that srv has, in the order they came.
func connected(srv *Server) []*conn {
	srv.mu.Lock()
	defer srv.unlock()
	return srv.sortedConns()
}
