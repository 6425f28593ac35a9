package zktest

import (
	"bufio"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// passLimit bounds the frames that a proxy passes. It is well above a server's
// own limit, which is the server's to enforce, and above the largest replies.
const passLimit = 64 << 20

// dialTimeout bounds connecting to the target.
const dialTimeout = 5 * time.Second

// pipe is one client's connection and the one to the server that goes with it.
type pipe struct {
	p      *Proxy
	tap    *tap
	client net.Conn
	done   chan struct{} // closed once both sides are

	mu     sync.Mutex // never held while a connection is used
	closed bool
	server net.Conn // nil until dialled
}

// hangUp closes both sides. It never blocks and may be called again.
func (c *pipe) hangUp() {
	c.mu.Lock()
	first, server := !c.closed, c.server
	c.closed = true
	c.mu.Unlock()
	if !first {
		return
	}
	close(c.done)
	// There is nobody to tell that closing has failed.
	_ = c.client.Close()
	if server != nil {
		_ = server.Close()
	}
}

// serve dials the server and passes frames until either side has ended.
func (c *pipe) serve() {
	defer c.p.wg.Done()
	defer func() {
		c.hangUp()
		c.tap.forget()
		c.p.mu.Lock()
		defer c.p.mu.Unlock()
		delete(c.p.pipes, c)
	}()
	server, err := net.DialTimeout("tcp", c.p.target, dialTimeout)
	if err != nil || !c.join(server) {
		return
	}
	r := bufio.NewReader(c.client)
	head, err := r.Peek(4)
	if err != nil {
		return
	}
	fromClient, fromServer := c.passRequests, c.passReplies
	if binary.BigEndian.Uint32(head) > passLimit {
		// The four letters of a monitoring tool, or nothing we know.
		fromClient, fromServer = c.copyIn, c.copyOut
	}
	replies := make(chan struct{})
	go func() {
		defer close(replies)
		fromServer(server)
	}()
	fromClient(server, r)
	<-replies
}

// join adds the server's side; false if the pipe was closed meanwhile.
func (c *pipe) join(server net.Conn) bool {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.server = server
	}
	c.mu.Unlock()
	if closed {
		_ = server.Close()
	}
	return !closed
}

// passRequests shows every frame of the client to the tap. The end of the
// client's stream is passed on as such: closing the server's side at once would
// destroy what the server has not read yet.
func (c *pipe) passRequests(server net.Conn, r *bufio.Reader) {
	var frame []byte
	for {
		payload, err := wire.ReadFrame(r, passLimit)
		if err != nil {
			c.tap.clientEnd()
			c.endStream(server)
			return
		}
		payload, v := c.tap.clientFrame(payload)
		switch v {
		case cut:
			c.hangUp()
			return
		case drop:
			continue
		}
		frame = wire.AppendFrame(frame[:0], payload)
		if _, err := server.Write(frame); err != nil {
			// passReplies finds out as well, once it has passed what came before.
			return
		}
	}
}

// passReplies does the same with what the server sends.
func (c *pipe) passReplies(server net.Conn) {
	r := bufio.NewReader(server)
	var frame []byte
	for {
		payload, err := wire.ReadFrame(r, passLimit)
		if err != nil {
			c.tap.serverEnd()
			c.endStream(c.client)
			return
		}
		instead, v := c.tap.serverFrame(payload)
		if instead != nil {
			payload = instead
		}
		frame = wire.AppendFrame(frame[:0], payload)
		switch v {
		case cut:
			c.hangUp()
			return
		case drop:
			continue
		case half:
			frame = frame[:len(frame)/2]
		}
		if _, err := c.client.Write(frame); err != nil {
			c.hangUp()
			return
		}
	}
}

// copyIn and copyOut pass bytes that are no frames.
func (c *pipe) copyIn(server net.Conn, r *bufio.Reader) {
	if !c.tap.flows(BothWays) {
		return
	}
	_, _ = io.Copy(server, r)
	c.endStream(server)
}

func (c *pipe) copyOut(server net.Conn) {
	_, _ = io.Copy(c.client, server)
	c.endStream(c.client)
}

// endStream ends what is sent on one side and leaves the other way open, so
// that what is still on its way arrives. A side where that fails is gone.
func (c *pipe) endStream(side net.Conn) {
	if err := side.(*net.TCPConn).CloseWrite(); err != nil {
		c.hangUp()
	}
}
