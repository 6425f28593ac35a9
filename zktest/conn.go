package zktest

import (
	"bufio"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// conn is one client's connection. Its reader serves requests one by one, its
// writer sends what that, and everybody else's requests, have put in out.
type conn struct {
	s      *Server
	nc     net.Conn
	number int
	host   string
	tap    *tap
	out    queue
	done   chan struct{}
	shutUp atomic.Bool

	// Guarded by s.mu.
	session  int64         // 0 until it is welcome
	timeout  time.Duration // of the session, as negotiated on this connection
	readOnly bool          // the handshake spoke of it
	ids      []id
	over     bool // takes no more requests
	account  account

	// At a server of an ensemble.
	greeting bool      // the leader has not let the session in yet
	held     [][]byte  // has come since
	line     []*errand // not answered, in order
}

// serve takes over a connection that has been accepted.
func (s *Server) serve(nc net.Conn) {
	c := &conn{s: s, nc: nc, done: make(chan struct{}), out: newQueue(), account: newAccount()}
	t, ok := s.Faults.accept(nc, c.shut, c.done)
	if !ok {
		c.shut()
		return
	}
	c.tap, c.number, c.host = t, t.number, t.host
	c.ids = []id{{"ip", t.host}}
	s.mu.Lock()
	closed := s.closed || s.member != nil && s.member.role == down
	if !closed {
		s.conns[c] = struct{}{}
		s.wg.Add(2)
	}
	s.unlock()
	if closed {
		c.shut()
		t.forget()
		return
	}
	go c.read()
	go c.write()
}

// shut closes the connection at once, whatever still waits in its queue. It
// never blocks.
func (c *conn) shut() {
	if c.shutUp.CompareAndSwap(false, true) {
		close(c.done)
		// There is nobody to tell that closing has failed.
		_ = c.nc.Close()
	}
}

// read serves the client's frames until the connection ends.
func (c *conn) read() {
	defer c.s.wg.Done()
	defer c.leave()
	r := bufio.NewReader(&greeting{c: c})
	if word, err := r.Peek(4); err == nil && c.s.fourLetters(c, string(word)) {
		return
	}
	for c.out.drained(c.tap.takeTurn, c.done) {
		payload, err := wire.ReadFrame(r, wire.MaxFrame)
		if err != nil {
			c.tap.clientEnd()
			return
		}
		payload, v := c.tap.clientFrame(payload)
		switch v {
		case cut:
			return
		case drop:
			continue
		}
		if !c.s.handle(c, payload) {
			return
		}
	}
}

// handle gives a frame to the server; false if there is no more to read for it.
func (s *Server) handle(c *conn, payload []byte) bool {
	if !s.admitted(c) {
		return false
	}
	defer s.unlock()
	s.received++
	c.account.received++
	switch {
	case c.over:
		// What raced with the end of a session or of a connection is lost. Reading
		// goes on, so that what waits in the queue still reaches the client.
	case s.member != nil:
		s.member.receive(c, payload)
	case c.session == 0:
		s.connect(c, payload)
	default:
		s.request(c, payload)
	}
	return true
}

// leave takes an ended connection out of the server's books. Its client sees the
// end of it only after that, and so never a watch of its own left behind.
func (c *conn) leave() {
	defer c.tap.forget()
	defer c.shut()
	c.tap.takeTurn(ToServer)
	s := c.s
	s.mu.Lock()
	defer s.unlock()
	c.over = true
	s.disown(c)
	delete(s.conns, c)
}

// disown ends a connection's part in sessions and watches. s.mu is held.
func (s *Server) disown(c *conn) {
	s.dataWatches.drop(c)
	s.childWatches.drop(c)
	if s.attached[c.session] == c {
		delete(s.attached, c.session)
	}
}

// write sends what waits in the queue, until it says that this was all.
func (c *conn) write() {
	defer c.s.wg.Done()
	defer c.shut()
	for {
		frame, last := c.out.pop()
		switch {
		case frame != nil:
			if !c.send(frame) {
				return
			}
		case last:
			c.tap.serverEnd()
			return
		default:
			select {
			case <-c.out.wake:
			case <-c.done:
				return
			}
			c.tap.takeTurn(ToClient)
			c.out.heed()
		}
	}
}

func (c *conn) send(frame []byte) bool {
	instead, v := c.tap.serverFrame(frame[4:])
	if instead != nil {
		frame = wire.AppendFrame(nil, instead)
	}
	switch v {
	case cut:
		return false
	case drop:
		return true
	case half:
		frame = frame[:len(frame)/2]
	}
	if c.out.hasEnded() {
		c.hurry()
	}
	_, err := c.nc.Write(frame)
	return err == nil
}

// author is whom this connection's writes are judged as. s.mu is held.
func (c *conn) author() author { return author{session: c.session, ids: c.ids} }

// identify adds an identity, unless the client has it already.
func (c *conn) identify(who id) {
	if !slices.Contains(c.ids, who) {
		// A new list: requests under way are judged by the old one.
		c.ids = inHashOrder(append(slices.Clone(c.ids), who))
	}
}

// send queues a frame. s.mu is held.
func (s *Server) send(c *conn, frame []byte) {
	if c.over {
		return
	}
	s.sent++
	c.account.sent++
	if !c.out.push(frame) {
		s.close(c)
		s.doomed = append(s.doomed, c)
		return
	}
	s.dirty = append(s.dirty, c)
}

// close takes no more requests from a connection and ends it once its queue has
// been sent. s.mu is held.
func (s *Server) close(c *conn) {
	if c.over {
		return
	}
	c.over = true
	s.disown(c)
	c.out.end()
	s.dirty = append(s.dirty, c)
	s.ending = append(s.ending, c)
}
