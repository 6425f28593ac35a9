package session

import (
	"crypto/tls"
	"errors"
	"io"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// closeXid marks the closeSession request that is ours; a zk.Conn counts its
// own requests up from 1.
const closeXid = math.MaxInt32

// conn is the net.Conn under a zk.Conn. It
//
//   - reads session id and timeout in the handshake and lets nothing through
//     that belongs to another session,
//   - bounds the handshake,
//   - records when requests were sent and answered, for the trust rule,
//   - never reports a failed write: it closes the socket and lets the reader end
//     the connection in the ordinary way. A zk.Conn whose write of credentials
//     fails after a reconnect never works again, not even its Close,
//   - makes the zk.Conn forget our watches when the connection ends (unwatch),
//   - keeps the last zxid in its place (dated),
//   - is the second half of the fuse: once the session has ended it swallows
//     what the zk.Conn writes. To the zk.Conn it then looks like a connection on
//     which no answer comes, until the zk.Conn says goodbye; so the zk.Conn
//     always winds down by its shortest path, whatever it was doing.
//
// A conn without a socket (sock nil) is what the dialer hands out after the end.
type conn struct {
	s     *Session
	sock  net.Conn
	limit time.Duration // for the handshake

	server string // as the list of servers names it

	writer chan struct{} // capacity 1: the right to write to sock, never a mutex across I/O
	quit   chan struct{} // closed when the zk.Conn says goodbye or closes
	gone   chan struct{} // closed when nothing more will be read from sock
	told   atomic.Bool   // the server has answered our closeSession

	quitOnce, goneOnce sync.Once

	owed   []byte // bytes that the zk.Conn gets before any from sock; reader only
	failed error  // what sock ended with; reader only

	passed atomic.Bool // the handshake is through
	out    wire.Stream // writer only
	frames int         // frames begun by the zk.Conn; writer only
	hello  bool        // the connect request has gone out; writer only
	op     wire.Op     // of the frame being written; writer only
	bye    bool        // that frame says goodbye; writer only
	seen   int64       // the last zxid that the server is told we have seen; writer only
	in     wire.Stream // reader only

	// Under s.mu:
	began   instant // when the connect request was begun
	touches *touches
	sent    map[int32]sent
	pings   []instant
}

type sent struct {
	start   instant
	op      wire.Op
	vouches instant // what an answer makes known, if op commits
	slept   time.Duration
}

func newConn(s *Session, sock net.Conn, limit time.Duration) *conn {
	c := &conn{
		s: s, sock: sock, limit: limit,
		writer: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{}),
		sent: make(map[int32]sent),
	}
	c.out = wire.Stream{Want: wire.RequestHeaderLen, Head: c.sending}
	c.in = wire.Stream{Want: wire.ReplyHeaderLen, Head: c.answered, BlankFrom: replyZxid, BlankTo: replyZxid + 8}
	if sock == nil {
		c.end()
	}
	return c
}

// end notes that nothing more will be read from the socket.
func (c *conn) end() { c.goneOnce.Do(func() { close(c.gone) }) }

// cut closes the socket; the reader finds out.
func (c *conn) cut() {
	sock := c.sock
	if t, ok := sock.(*tls.Conn); ok {
		sock = t.NetConn() // a tls.Conn would first try for seconds to say goodbye
	}
	if sock != nil {
		_ = sock.Close() // the connection is given up: there is nobody to tell
	}
}

// Write passes on bytes of the zk.Conn, or swallows them after the fuse has
// blown. It never fails.
func (c *conn) Write(b []byte) (int, error) {
	c.writer <- struct{}{}
	defer func() { <-c.writer }()
	c.out.Pass(b)
	if c.bye {
		c.quitOnce.Do(func() { close(c.quit) })
	}
	if c.s.blown.Load() || c.sock == nil {
		return len(b), nil
	}
	c.hello = true
	if _, err := c.sock.Write(c.dated(b)); err != nil {
		c.cut()
	}
	return len(b), nil
}

// sending takes note of a request at the start of its write.
func (c *conn) sending(head []byte) {
	s, now := c.s, c.s.now()
	c.frames++
	if c.frames == 1 {
		s.mu.Lock()
		c.began, c.seen = now, s.zxid
		s.mu.Unlock()
		return
	}
	h, err := wire.ParseRequestHeader(head)
	if err != nil {
		return
	}
	c.op = h.Op
	if h.Op == wire.OpCloseSession {
		// Only our own Close makes a zk.Conn say this, after the fuse has blown.
		c.bye = true
		return
	}
	r := sent{start: now, op: h.Op}
	if h.Op.Commits() {
		r.slept = s.asleep()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != 0 || c.touches == nil {
		return
	}
	if h.Xid == wire.XidPing {
		c.pings = append(c.pings, now)
		return
	}
	if h.Op.Commits() {
		r.vouches = c.touches.vouched(now)
	}
	c.sent[h.Xid] = r
}

// answered takes note of a reply as soon as its header has come.
func (c *conn) answered(head []byte) {
	h, err := wire.ParseReplyHeader(head)
	if err != nil {
		return
	}
	if h.Xid == closeXid {
		c.told.Store(true)
		return
	}
	if h.Err == wire.SessionExpired {
		c.s.end(Expired)
		return
	}
	c.s.answered(c, h)
}

// Read hands the zk.Conn its handshake and then the server's bytes.
func (c *conn) Read(b []byte) (int, error) {
	if len(c.owed) == 0 && !c.passed.Load() {
		reply, err := c.handshake()
		if err != nil {
			c.s.servers.failed(c.server, err)
			c.end()
			c.s.down(c)
			return 0, err
		}
		c.owed = reply
		c.passed.Store(true)
	}
	if len(c.owed) == 0 && c.failed == nil && !c.s.blown.Load() {
		n, err := c.sock.Read(b)
		if n > 0 {
			c.in.Pass(b[:n])
		}
		if err != nil && !c.s.blown.Load() {
			c.end()
			c.s.down(c)
			c.failed, c.owed = err, c.unwatch()
		}
		if n > 0 || err == nil {
			return n, nil
		}
	}
	if len(c.owed) > 0 {
		n := copy(b, c.owed)
		c.owed = c.owed[n:]
		return n, nil
	}
	if !c.s.blown.Load() {
		return 0, c.failed
	}
	c.drain()
	c.s.park()
	<-c.quit
	return 0, io.EOF
}

// drain reads on after the fuse has blown: closing a socket with unread bytes
// in it resets the connection, and a reset can overtake our closeSession.
func (c *conn) drain() {
	defer c.end()
	if c.sock == nil {
		return
	}
	scrap := make([]byte, 4096)
	for !c.told.Load() {
		n, err := c.sock.Read(scrap)
		if n > 0 {
			c.in.Pass(scrap[:n])
		}
		if err != nil {
			return
		}
	}
}

// Close is the zk.Conn's word that it has done with this connection.
func (c *conn) Close() error {
	c.quitOnce.Do(func() { close(c.quit) })
	if c.s.blown.Load() {
		return nil // the monitor closes the socket, once it has told the server
	}
	c.cut()
	c.s.down(c)
	return nil
}

// farewell writes one closeSession frame if the socket takes it within limit,
// waits as long for the answer, and closes the socket. It reports whether the
// server is known to have ended the session.
func (c *conn) farewell(limit time.Duration) bool {
	if c.sock == nil {
		return false
	}
	late := make(chan struct{})
	cut := time.AfterFunc(limit, func() {
		defer close(late)
		c.cut()
	})
	defer cut.Stop()
	defer c.cut()
	select {
	case c.writer <- struct{}{}:
	case <-c.gone:
		return false
	}
	err := errNoHello
	if c.hello {
		_, err = c.sock.Write(goodbye)
	}
	<-c.writer // the zk.Conn's own goodbye must not wait for the server's answer
	if err != nil {
		return false
	}
	select {
	case <-c.gone:
	case <-late: // a zk.Conn that could not decode an event reads no more
	}
	return c.told.Load()
}

var (
	goodbye    = wire.AppendFrame(nil, wire.RequestHeader{Xid: closeXid, Op: wire.OpCloseSession}.Append(nil))
	errNoHello = errors.New("zkconn: nothing was sent on this connection")
)

// LocalAddr is the socket's, for the zk.Conn's logs.
func (c *conn) LocalAddr() net.Addr {
	if c.sock == nil {
		return noAddr{}
	}
	return c.sock.LocalAddr()
}

// RemoteAddr is the socket's, for the zk.Conn's logs.
func (c *conn) RemoteAddr() net.Addr {
	if c.sock == nil {
		return noAddr{}
	}
	return c.sock.RemoteAddr()
}

type noAddr struct{}

func (noAddr) Network() string { return "none" }
func (noAddr) String() string  { return "none" }

// SetDeadline is not used by a zk.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline passes on the zk.Conn's deadlines, except in the handshake,
// where it would wait for 6.7 session timeouts and ours stands instead.
func (c *conn) SetReadDeadline(t time.Time) error {
	if !c.passed.Load() || c.s.blown.Load() {
		return nil
	}
	return c.sock.SetReadDeadline(t)
}

// SetWriteDeadline passes on the zk.Conn's deadlines.
func (c *conn) SetWriteDeadline(t time.Time) error {
	if c.s.blown.Load() {
		return nil // it would undo the bound on our farewell
	}
	return c.sock.SetWriteDeadline(t)
}
