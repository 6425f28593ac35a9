package bubble

import (
	"net"
	"slices"
	"sync"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// inOrder is a client's end of a connection on which the order of what is sent
// in one instant follows from the seed.
//
// A client whose goroutines wake at one instant numbers and writes their
// requests in the order in which they happened to run. So what is written is held
// until the instant is over, put into an order that follows from the seed and
// the requests alone, and numbered in that order; the replies get back the
// numbers that the client knows. What are no requests, TLS say, passes as it is.
type inOrder struct {
	net.Conn // nil until bound is closed
	seed     uint64
	party    *party
	enlisted bool // the party's to know
	bound    chan struct{}
	replies  replies // the reader's

	mu       sync.Mutex // never held while Conn is used
	held     []byte     // written in this instant
	flushing bool
	closing  bool
	greeted  bool            // the handshake has gone
	raw      bool            // these are no requests
	given    map[int32]int32 // the client's numbers by those that went in their place
	err      error           // why a write has failed that nobody was there to be told of

	readBy, writtenBy time.Time // set before there was a Conn
}

func newInOrder(seed uint64, p *party) *inOrder {
	return &inOrder{seed: seed, party: p, bound: make(chan struct{}), given: map[int32]int32{}}
}

// bind gives it its connection.
func (c *inOrder) bind(conn net.Conn) {
	c.mu.Lock()
	c.Conn = conn
	readBy, writtenBy := c.readBy, c.writtenBy
	c.mu.Unlock()
	// A new connection takes every deadline.
	_ = conn.SetReadDeadline(readBy)
	_ = conn.SetWriteDeadline(writtenBy)
	close(c.bound)
}

func (c *inOrder) isBound() bool {
	select {
	case <-c.bound:
		return true
	default:
		return false
	}
}

// Write holds p back. It blocks only while there is no room for what was held
// before; an error of that is told by the next Write.
func (c *inOrder) Write(p []byte) (int, error) {
	if c.isBound() {
		// A connection that cannot be written to says so.
		if _, err := c.Conn.Write(nil); err != nil {
			return 0, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.err != nil:
		return 0, c.err
	case c.closing:
		return 0, net.ErrClosed
	case len(c.held) == 0:
		time.AfterFunc(1, c.flush)
	}
	c.held = append(c.held, p...)
	return len(p), nil
}

// Close sends what is held, as far as there is room for it, and closes. A ping
// is not sent: a client whose pings and whose patience have the same rhythm
// pings in the instant in which it gives the connection up, just before or after.
func (c *inOrder) Close() error {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	if !c.isBound() {
		c.party.enlist(c)
		return nil
	}
	// Where that fails there is nothing to send to.
	_ = c.Conn.SetWriteDeadline(time.Now().Add(1))
	c.flush()
	return c.Conn.Close()
}

// flush sends what is held. It returns at once if somebody does already.
func (c *inOrder) flush() {
	if !c.isBound() {
		c.party.enlist(c)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushing {
		return
	}
	c.flushing = true
	for c.err == nil && len(c.held) > 0 {
		frames := c.take()
		c.mu.Unlock()
		var err error
		for i := 0; i < len(frames) && err == nil; i++ {
			_, err = c.Conn.Write(frames[i])
		}
		c.mu.Lock()
		c.err = err
	}
	c.flushing = false
}

// take returns what is held, in order. c.mu is held.
func (c *inOrder) take() [][]byte {
	held := c.held
	c.held = nil
	frames := split(held)
	if c.raw = c.raw || frames == nil; c.raw {
		return [][]byte{held}
	}
	first := 0
	if !c.greeted {
		c.greeted, first = true, 1
	}
	order(frames[first:], c.seed, c.given)
	if c.closing {
		frames = slices.DeleteFunc(frames, func(f []byte) bool { return xidOf(f) == wire.XidPing })
	}
	return frames
}

// Read gives the replies the client's own numbers.
func (c *inOrder) Read(p []byte) (int, error) {
	if !c.isBound() {
		c.party.enlist(c)
		<-c.bound
	}
	return c.replies.read(c, p)
}

// clientsNumber returns the number under which the client waits for a reply, and
// false if what comes is to pass as it is.
func (c *inOrder) clientsNumber(xid int32) (int32, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if own, ok := c.given[xid]; ok {
		delete(c.given, xid)
		return own, !c.raw
	}
	return xid, !c.raw
}

// SetDeadline sets both deadlines.
func (c *inOrder) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

// SetReadDeadline bounds reads.
func (c *inOrder) SetReadDeadline(t time.Time) error {
	if c.isBound() {
		return c.Conn.SetReadDeadline(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readBy = t
	return nil
}

// SetWriteDeadline bounds writes.
func (c *inOrder) SetWriteDeadline(t time.Time) error {
	if c.isBound() {
		return c.Conn.SetWriteDeadline(t)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writtenBy = t
	return nil
}

// LocalAddr returns the host's address, without a port while there is none yet.
func (c *inOrder) LocalAddr() net.Addr {
	if c.isBound() {
		return c.Conn.LocalAddr()
	}
	return c.party.addr
}

// RemoteAddr returns the server's address.
func (c *inOrder) RemoteAddr() net.Addr {
	if c.isBound() {
		return c.Conn.RemoteAddr()
	}
	return c.party.remote
}
