package main

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// dir is where the scenarios work; it is gone afterwards.
const dir = "/zkfence-bench-server"

// listed is how many children the node has that is listed.
const listed = 100

// scenario is one kind of request, of which client i sends one after the other.
type scenario struct {
	name string
	send func(c *client, i int) error
}

var scenarios = []scenario{
	{"ping", func(c *client, _ int) error { return c.call(wire.OpPing, nil) }},
	{"exists", func(c *client, _ int) error { return c.call(wire.OpExists, watched(dir)) }},
	{"getData", func(c *client, _ int) error { return c.call(wire.OpGetData, watched(dir)) }},
	{fmt.Sprintf("getChildren of %d", listed), func(c *client, _ int) error { return c.call(wire.OpGetChildren, watched(dir+"/list")) }},
	{"setData", func(c *client, i int) error { return c.call(wire.OpSetData, setData(own(i))) }},
	{"create+delete", func(c *client, i int) error {
		if err := c.call(wire.OpCreate, create(own(i)+"/n")); err != nil {
			return err
		}
		return c.call(wire.OpDelete, versioned(own(i)+"/n"))
	}},
	{"multi of check, setData, create, delete", func(c *client, i int) error {
		return c.call(wire.OpMulti, func(e *wire.Encoder) {
			for _, s := range []struct {
				op   wire.Op
				body func(*wire.Encoder)
			}{
				{wire.OpCheck, versioned(own(i))}, {wire.OpSetData, setData(own(i))},
				{wire.OpCreate, create(own(i) + "/m")}, {wire.OpDelete, versioned(own(i) + "/m")},
			} {
				multiHeader(e, s.op, false)
				s.body(e)
			}
			multiHeader(e, wire.OpError, true)
		})
	}},
}

func own(i int) string { return fmt.Sprintf("%s/own-%d", dir, i) }

func watched(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path); e.Bool(false) }
}

func versioned(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path); e.Int32(-1) }
}

func setData(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path); e.Buffer([]byte("some data")); e.Int32(-1) }
}

func create(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Buffer([]byte("some data"))
		e.Int32(1)
		e.Int32(31)
		e.String("world")
		e.String("anyone")
		e.Int32(0)
	}
}

func multiHeader(e *wire.Encoder, op wire.Op, done bool) {
	e.Int32(int32(op))
	e.Bool(done)
	e.Int32(-1)
}

// refused is the code of an answer that is not OK.
type refused wire.Code

func (r refused) Error() string { return "refused: " + wire.Code(r).String() }

// bed is the connections to one server, and the nodes that they work on.
type bed struct {
	clients []*client
	paths   []string // parents first
}

func newBed(addr string, conns int) (*bed, error) {
	b := &bed{}
	for range conns {
		c, err := connect(addr)
		if err != nil {
			b.close()
			return nil, err
		}
		b.clients = append(b.clients, c)
	}
	b.paths = []string{dir, dir + "/list"}
	for i := range listed {
		b.paths = append(b.paths, fmt.Sprintf("%s/list/child-%010d", dir, i))
	}
	for i := range conns {
		b.paths = append(b.paths, own(i))
	}
	for _, p := range b.paths {
		// What an interrupted run has left behind will do.
		if err := b.clients[0].call(wire.OpCreate, create(p)); err != nil && !errors.Is(err, refused(wire.NodeExists)) {
			b.close()
			return nil, err
		}
	}
	return b, nil
}

func (b *bed) close() {
	for i := len(b.paths) - 1; i >= 0; i-- {
		_ = b.clients[0].call(wire.OpDelete, versioned(b.paths[i])) // the figures are taken
	}
	for _, c := range b.clients {
		_ = c.call(wire.OpCloseSession, nil)
		_ = c.nc.Close()
	}
}

// run has every client send its share of n requests and returns how long all of
// them took.
func (b *bed) run(sc scenario, n int) (time.Duration, error) {
	errs := make([]error, len(b.clients))
	var wg sync.WaitGroup
	began := time.Now()
	for i, c := range b.clients {
		wg.Go(func() {
			for k := i; k < n && errs[i] == nil; k += len(b.clients) {
				errs[i] = sc.send(c, i)
			}
		})
	}
	wg.Wait()
	return time.Since(began), errors.Join(errs...)
}

// client has a session and one request at a time.
type client struct {
	nc  net.Conn
	r   *bufio.Reader
	xid int32
	buf []byte
}

// patience bounds everything that is asked of a server.
const patience = time.Minute

func connect(addr string) (*client, error) {
	nc, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return nil, err
	}
	c := &client{nc: nc, r: bufio.NewReader(nc)}
	err = nc.SetDeadline(time.Now().Add(patience))
	if err == nil {
		_, err = nc.Write(wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: 60_000, Password: make([]byte, 16)}.Append(nil)))
	}
	if err == nil {
		_, err = wire.ReadFrame(c.r, wire.MaxFrame)
	}
	if err != nil {
		_ = nc.Close()
		return nil, err
	}
	// Each answer of the server puts the end of the wait off no further: a round
	// that lasts minutes says enough.
	return c, nc.SetDeadline(time.Now().Add(10 * patience))
}

// call sends a request and waits for the answer; one that is not OK is an error.
func (c *client) call(op wire.Op, body func(*wire.Encoder)) error {
	c.xid++
	xid := c.xid
	if op == wire.OpPing {
		xid = wire.XidPing
	}
	e := wire.Encoder{Buf: append(c.buf[:0], 0, 0, 0, 0)}
	e.Buf = wire.RequestHeader{Xid: xid, Op: op}.Append(e.Buf)
	if body != nil {
		body(&e)
	}
	n := len(e.Buf) - 4
	e.Buf[0], e.Buf[1], e.Buf[2], e.Buf[3] = byte(n>>24), byte(n>>16), byte(n>>8), byte(n)
	c.buf = e.Buf
	if _, err := c.nc.Write(e.Buf); err != nil {
		return err
	}
	payload, err := wire.ReadFrame(c.r, wire.MaxFrame)
	if err != nil {
		return err
	}
	h, err := wire.ParseReplyHeader(payload)
	switch {
	case err != nil:
		return err
	case h.Xid != xid:
		return fmt.Errorf("reply to request %d where %d was asked", h.Xid, xid)
	case h.Err != wire.OK:
		return refused(h.Err)
	case op == wire.OpMulti && wire.Op(wire.NewDecoder(payload[wire.ReplyHeaderLen:]).Int32()) == wire.OpError:
		return errors.New("a multi was refused")
	}
	return nil
}
