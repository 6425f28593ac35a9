package zktest

import (
	"cmp"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// window is how many bytes may be on their way or unread in one direction of a
// connection before a Write blocks.
const window = 1 << 20

// memConn is one end of a connection. Network.mu guards it; who waits for it
// waits on wake, for whatever may have changed.
type memConn struct {
	n             *Network
	local, remote memAddr
	peer          *memConn
	out           *link
	wake          sync.Cond

	in       [][]byte // arrived and unread
	read     int      // bytes read that the peer was not yet told of
	finished bool     // the peer's stream has ended behind in
	broken   error    // ECONNRESET once the connection was reset

	room    int  // bytes that may still be sent
	writing bool // a Write is under way; another would tear its bytes apart
	ended   bool // our stream has ended

	closed    bool
	refused   bool // a reset has answered what arrived after Close
	readBy    deadline
	writtenBy deadline
}

// connect makes the two ends of a connection between two hosts.
func (n *Network) connect(local, remote memAddr, from, to string) (near, far *memConn) {
	near = &memConn{n: n, local: local, remote: remote, out: n.link(from, to), room: window}
	far = &memConn{n: n, local: remote, remote: local, out: n.link(to, from), room: window}
	near.peer, far.peer = far, near
	for _, c := range []*memConn{near, far} {
		c.wake.L = &n.mu
		c.readBy.init(n, c.wake.Broadcast)
		c.writtenBy.init(n, c.wake.Broadcast)
	}
	return near, far
}

// open makes an end known to Reset and Close of the network.
func (c *memConn) open() { c.n.conns[c] = struct{}{} }

func (c *memConn) fail(op string, err error) error {
	return &net.OpError{Op: op, Net: "tcp", Source: c.local, Addr: c.remote, Err: err}
}

// Read returns what has arrived, up to one Write of the peer at a time.
func (c *memConn) Read(p []byte) (int, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	for {
		switch {
		case c.closed:
			return 0, c.fail("read", net.ErrClosed)
		case len(p) == 0:
			return 0, nil
		case c.readBy.passed:
			return 0, c.fail("read", os.ErrDeadlineExceeded)
		case len(c.in) > 0:
			return c.take(p), nil
		case c.broken != nil:
			return 0, c.fail("read", c.broken)
		case c.finished:
			return 0, io.EOF
		}
		c.wake.Wait()
	}
}

func (c *memConn) take(p []byte) int {
	m := copy(p, c.in[0])
	if c.in[0] = c.in[0][m:]; len(c.in[0]) == 0 {
		c.in[0] = nil
		c.in = c.in[1:]
	}
	// The window is told in halves, over the way back: were it opened at once,
	// a read on one host would wake a writer on another at the same instant.
	if c.read += m; c.read >= window/2 {
		credit, peer := c.read, c.peer
		c.read = 0
		c.out.carry(c, func() {
			peer.room += credit
			peer.wake.Broadcast()
		})
	}
	return m
}

// Write copies p and returns; it blocks only while the window is full.
func (c *memConn) Write(p []byte) (int, error) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	for c.writing {
		if err := c.cannotWrite(); err != nil {
			return 0, err
		}
		c.wake.Wait()
	}
	c.writing = true
	defer func() {
		c.writing = false
		c.wake.Broadcast()
	}()
	done := 0
	for {
		if err := c.cannotWrite(); err != nil {
			return done, err
		}
		if done == len(p) {
			return done, nil
		}
		if c.room == 0 {
			c.wake.Wait()
			continue
		}
		m := min(c.room, len(p)-done)
		c.send(p[done : done+m])
		if done += m; done == len(p) {
			return done, nil
		}
	}
}

func (c *memConn) cannotWrite() error {
	switch {
	case c.closed:
		return c.fail("write", net.ErrClosed)
	case c.writtenBy.passed:
		return c.fail("write", os.ErrDeadlineExceeded)
	case c.broken != nil:
		return c.fail("write", c.broken)
	case c.ended:
		return c.fail("write", syscall.EPIPE)
	}
	return nil
}

func (c *memConn) send(p []byte) {
	c.room -= len(p)
	b, peer := append([]byte(nil), p...), c.peer
	c.out.carry(c, func() { peer.arrived(b) })
}

func (c *memConn) arrived(b []byte) {
	if !c.closed && c.broken == nil {
		c.in = append(c.in, b)
		c.wake.Broadcast()
		return
	}
	c.refuse()
}

// refuse resets the peer's end once what was written before has arrived there.
// TCP does so, and a writer finds out that nobody reads.
func (c *memConn) refuse() {
	if peer := c.peer; !c.refused {
		c.refused = true
		c.out.carry(c, func() { peer.broke() })
	}
}

// CloseWrite ends the stream to the peer, which reads io.EOF behind what was
// written; reading goes on.
func (c *memConn) CloseWrite() error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	if c.broken != nil {
		return c.fail("close", c.broken)
	}
	c.end()
	c.wake.Broadcast()
	return nil
}

func (c *memConn) end() {
	if c.ended || c.broken != nil {
		return
	}
	c.ended = true
	peer := c.peer
	c.out.carry(c, func() {
		peer.finished = true
		peer.wake.Broadcast()
	})
}

// Close ends both directions; what was written before still arrives. If
// anything has come that was not read, the peer is told so, as by TCP: it may be
// waiting for room to write more.
func (c *memConn) Close() error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return c.fail("close", net.ErrClosed)
	}
	c.end()
	if len(c.in) > 0 {
		c.refuse()
	}
	c.shut()
	return nil
}

// shut closes this end without a word to the peer.
func (c *memConn) shut() {
	c.closed = true
	c.in = nil
	c.readBy.alarm.stop()
	c.writtenBy.alarm.stop()
	delete(c.n.conns, c)
	c.wake.Broadcast()
}

// broke fails this end; what has arrived can still be read.
func (c *memConn) broke() {
	if c.closed || c.broken != nil {
		return
	}
	c.broken = syscall.ECONNRESET
	delete(c.n.conns, c)
	c.wake.Broadcast()
}

// reset fails this end at once.
func (c *memConn) reset() {
	c.in = nil
	c.broke()
}

// LocalAddr returns "host:port".
func (c *memConn) LocalAddr() net.Addr { return c.local }

// RemoteAddr returns "host:port".
func (c *memConn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline sets both deadlines.
func (c *memConn) SetDeadline(t time.Time) error {
	return c.setDeadlines(t, &c.readBy, &c.writtenBy)
}

// SetReadDeadline bounds reads, those that are blocked included.
func (c *memConn) SetReadDeadline(t time.Time) error { return c.setDeadlines(t, &c.readBy) }

// SetWriteDeadline bounds writes, those that are blocked included.
func (c *memConn) SetWriteDeadline(t time.Time) error { return c.setDeadlines(t, &c.writtenBy) }

func (c *memConn) setDeadlines(t time.Time, ds ...*deadline) error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if c.closed {
		return c.fail("set", net.ErrClosed)
	}
	for _, d := range ds {
		d.set(t)
	}
	return nil
}

// before orders the connections of a network.
func (c *memConn) before(d *memConn) bool {
	return c != d && cmp.Or(cmp.Compare(c.local, d.local), cmp.Compare(c.remote, d.remote)) < 0
}

func (c *memConn) name() string { return string(c.local) + " " + string(c.remote) }
