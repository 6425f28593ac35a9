package zktest

import (
	"net"
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// verdict is what becomes of a frame.
type verdict uint8

const (
	forward verdict = iota
	drop            // forget it and go on
	cut             // close the connection, both sides
	half            // forward the first half of the frame, then drop
)

// tap is the fault layer's hand on one client's connection. The goroutine that
// reads the client shows it every frame in turn, so does the goroutine that
// writes to the client, and each does what the verdict says. A frame that is
// held is one that has not been given its verdict yet.
type tap struct {
	f      *Faults
	number int
	host   string
	net    *Network // nil over TCP
	hangUp func()   // closes both sides; never blocks, safe to repeat
	done   <-chan struct{}

	// Guarded by f.mu.
	session  int64 // the one asked for, then the one granted
	greeted  bool  // the client's handshake has passed
	welcomed bool  // the server's has
	black    bool  // something is missing from the stream: let nothing follow it
	waiting  []*call
}

// call is a request whose reply has not passed yet.
type call struct {
	*Request
	swallow bool
	fail    Code // what it is answered, unless CodeOK
}

// accept takes a new connection under the faults' control. hangUp closes both
// sides of it and must not block; done is closed once it has. ok is false if it
// is to be closed at once.
func (f *Faults) accept(client net.Conn, hangUp func(), done <-chan struct{}) (t *tap, ok bool) {
	host := client.RemoteAddr().String()
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	f.mu.Lock()
	defer f.release()
	f.taken++
	t = &tap{f: f, number: f.taken, host: host, hangUp: hangUp, done: done}
	if c, ok := client.(*memConn); ok {
		t.net = c.n
	}
	e := t.stamped(Opened)
	if f.holds(t, func(m *mode) bool { return m.refuse }) {
		e.Fault = "Refuse"
		f.note(e)
		return nil, false
	}
	f.note(e)
	f.taps = append(f.taps, t)
	return t, true
}

// forget ends the faults' interest in a connection that has closed.
func (t *tap) forget() {
	f := t.f
	f.mu.Lock()
	defer f.release()
	if i := slices.Index(f.taps, t); i >= 0 {
		f.taps = slices.Delete(f.taps, i, i+1)
		f.put(t.from(Closed))
	}
}

// flows waits until bytes may go in direction d; false if the connection has
// been closed meanwhile.
func (t *tap) flows(d Direction) bool {
	for {
		t.f.mu.Lock()
		frozen := t.f.holds(t, func(m *mode) bool { return m.frozen&d != 0 })
		changed := t.f.changed
		t.f.mu.Unlock()
		if !frozen {
			return true
		}
		select {
		case <-changed:
		case <-t.done:
			return false
		}
		t.takeTurn(d)
	}
}

// clientFrame judges a frame from the client and returns what to forward.
func (t *tap) clientFrame(payload []byte) ([]byte, verdict) {
	if !t.greeted { // written by this goroutine alone
		return t.hello(payload)
	}
	h, err := wire.ParseRequestHeader(payload)
	if err != nil {
		return payload, forward
	}
	c, hooks := t.noteRequest(h, payload)
	run(hooks, *c.Request)
	if !t.flows(ToServer) {
		return nil, cut
	}
	v, steals := t.judge(c)
	if steals && t.f.thief != nil {
		// Whether the thief succeeded is not the client's to know.
		_ = t.f.thief(payload)
	}
	if c.fail != CodeOK {
		payload = inPlace(c.Xid)
	}
	return payload, v
}

// inPlace is a request that the server answers in the turn of one that it does not
// get to see, and that changes nothing.
func inPlace(xid int32) []byte {
	var e wire.Encoder
	e.Int32(xid)
	e.Int32(int32(OpExists))
	e.String("/")
	e.Bool(false)
	return e.Buf
}

// noteRequest puts a request on record and returns the hooks to run for it.
func (t *tap) noteRequest(h wire.RequestHeader, payload []byte) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.release()
	c := &call{Request: t.asked(h.Xid, h.Op, pathIn(h.Op, payload[wire.RequestHeaderLen:]))}
	t.waiting = append(t.waiting, c)
	return c, f.due(t, h.Op, false)
}

// judge decides about a request that nothing holds any more.
func (t *tap) judge(c *call) (v verdict, steals bool) {
	f := t.f
	f.mu.Lock()
	defer f.release()
	switch {
	case t.isBlack():
		t.broke(c.Request, "Blackhole")
		return drop, false
	case f.applies(t, steal, stealable(c.Op, c.Path)):
		t.broke(c.Request, "Steal")
		return cut, true
	case f.applies(t, dropRequest, c.Op):
		t.broke(c.Request, "DropRequest")
		return cut, false
	case f.applies(t, dropReply, c.Op):
		t.broke(c.Request, "DropReply")
		c.swallow = true
	default:
		if r := f.take(t, failReply, c.Op); r != nil {
			t.broke(c.Request, "FailReply")
			c.fail = r.code
		}
	}
	return forward, false
}

// isBlack says whether a frame of either direction vanishes now. f.mu is held.
func (t *tap) isBlack() bool {
	t.black = t.black || t.f.holds(t, func(m *mode) bool { return m.blackhole })
	return t.black
}

// serverFrame judges a frame for the client. What it returns is to be forwarded in
// its place, unless it is nil.
func (t *tap) serverFrame(payload []byte) (instead []byte, v verdict) {
	if !t.welcomed { // written by this goroutine alone
		return nil, t.welcome(payload)
	}
	h, err := wire.ParseReplyHeader(payload)
	if err != nil {
		return nil, forward
	}
	c, hooks := t.noteReply(h, payload)
	if c != nil {
		run(hooks, *c.Request)
	}
	if !t.flows(ToClient) {
		return nil, cut
	}
	t.f.mu.Lock()
	defer t.f.release()
	switch {
	case t.isBlack():
		if c != nil {
			t.broke(c.Request, "Blackhole")
		}
		return nil, drop
	case c != nil && c.swallow:
		return nil, cut
	case c != nil && c.fail != CodeOK:
		return failed(h, c.fail), forward
	}
	return nil, forward
}

// failed is the reply that says only that a request has failed.
func failed(h wire.ReplyHeader, code Code) []byte {
	var e wire.Encoder
	e.Int32(h.Xid)
	e.Int64(h.Zxid)
	e.Int32(int32(code))
	return e.Buf
}

// noteReply finds the request that a reply answers; nil for an event.
func (t *tap) noteReply(h wire.ReplyHeader, payload []byte) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.release()
	if h.Xid == wire.XidEvent {
		t.notified(payload[wire.ReplyHeaderLen:])
		return nil, nil
	}
	// By xid, not in turn: a real server answers auth ahead of what is queued. It
	// answers a ping as one, whatever its xid was.
	i := slices.IndexFunc(t.waiting, func(c *call) bool {
		return c.Xid == h.Xid || h.Xid == wire.XidPing && c.Op == OpPing
	})
	if i < 0 {
		return nil, nil
	}
	c := t.waiting[i]
	if i == 0 { // nearly always, and then nothing is moved
		t.waiting[0] = nil
		t.waiting = t.waiting[1:]
	} else {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	if c.fail != CodeOK {
		h.Err = c.fail
	}
	t.answered(c.Request, h.Err, h.Zxid)
	if c.Op == OpCloseSession && h.Err == wire.OK {
		t.inferred(c.Session, endClosed)
	}
	return c, f.due(t, c.Op, true)
}

// clientEnd is called when the client has closed its side: the server must not
// know before what the client sent first has passed.
func (t *tap) clientEnd() { t.flows(ToServer) }

// serverEnd is the same for the server's side.
func (t *tap) serverEnd() { t.flows(ToClient) }

// lost reports whether nothing of this connection reaches its client any more,
// not even its end.
func (t *tap) lost() bool {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	return t.isBlack()
}
