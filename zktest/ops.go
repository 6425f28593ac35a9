package zktest

import (
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// request serves one request of a connection whose session stands. s.mu is
// held; replies and events are queued, not written.
func (s *Server) request(c *conn, payload []byte) {
	h, err := wire.ParseRequestHeader(payload)
	if err != nil {
		s.close(c)
		return
	}
	d := wire.NewDecoder(payload[wire.RequestHeaderLen:])
	if h.Op == OpSetAuth {
		s.auth(c, h, decodeAuth(d))
		return
	}
	s.touch(c.session)
	switch h.Op {
	case OpCreate, OpCreate2, OpCreateContainer, wire.OpCreateTTL, OpDelete, OpSetData, OpSetACL, wire.OpCheck:
		s.write(c, h, d)
	case OpMulti:
		s.multi(c, h, d)
	case OpCloseSession:
		sess := c.session
		s.endSession(sess)
		s.reply(c, h, wire.OK, nil)
		s.close(c)
	case OpPing, OpSync, OpExists, OpGetData, OpGetChildren, OpGetChildren2, OpGetACL, OpSetWatches:
		code, body := s.read(c, h.Op, d)
		if d.Err() != nil {
			code = wire.MarshallingError
		}
		s.reply(c, h, code, body)
	default:
		s.send(c, sealFrame(newFrame(wire.ReplyHeader{Xid: h.Xid, Zxid: -1, Err: wire.Unimplemented})))
		s.close(c)
	}
}

// reply queues the answer to a request; body is called only where err is OK.
func (s *Server) reply(c *conn, h wire.RequestHeader, code Code, body func(*wire.Encoder)) {
	e := newFrame(wire.ReplyHeader{Xid: h.Xid, Zxid: s.zxid, Err: code})
	if code == wire.OK && body != nil {
		body(e)
	}
	s.send(c, sealFrame(e))
}

// decide reads and judges a single write.
func (s *Server) decide(op Op, d *wire.Decoder, who author) (change, Code) {
	j := &judge{tree: s.tree}
	var do func() (change, Code)
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer:
		r := decodeCreate(d)
		do = func() (change, Code) { return j.create(op, r, who) }
	case OpDelete:
		r := decodeVersioned(d)
		do = func() (change, Code) { return j.delete(r, who) }
	case OpSetData:
		r := decodeSetData(d)
		do = func() (change, Code) { return j.setData(r, who) }
	case OpSetACL:
		r := decodeSetACL(d)
		do = func() (change, Code) { return j.setACL(r, who) }
	case wire.OpCheck:
		r := decodeVersioned(d)
		do = func() (change, Code) { return j.check(r, who) }
	default:
		return change{}, wire.Unimplemented
	}
	if d.Err() != nil {
		return change{}, wire.MarshallingError
	}
	return do()
}

// write serves a single write. One that is refused takes a zxid too.
func (s *Server) write(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	ch, code := s.decide(h.Op, d, c.author())
	s.zxid++
	if code != wire.OK {
		s.reply(c, h, code, nil)
		return
	}
	if h.Op == wire.OpCheck {
		// Alone, one that succeeds kills the thread of a real server that should
		// answer it.
		s.close(c)
		return
	}
	stat := s.commit(ch)
	s.reply(c, h, wire.OK, func(e *wire.Encoder) {
		switch h.Op {
		case OpCreate:
			e.String(ch.path)
		case OpCreate2, OpCreateContainer:
			e.String(ch.path)
			stat.encode(e)
		case OpSetData, OpSetACL:
			stat.encode(e)
		}
	})
}

// commit applies a change under the current zxid; events go out before the
// reply to whoever caused them, also to that one.
func (s *Server) commit(c change) Stat {
	if c.op == OpDelete {
		up, _ := split(c.path)
		s.retime = s.retime || s.tree.nodes[up].kind == container // it may have to be reaped
	}
	return s.tree.apply(c, s.zxid, time.Now().UnixMilli(), s.notify)
}

func (s *Server) multi(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	ops, err := decodeMulti(d)
	s.zxid++
	if err != nil {
		s.reply(c, h, wire.MarshallingError, nil)
		return
	}
	changes, _ := judgeAll(s.tree, ops, c.author())
	stats := make([]Stat, len(changes))
	for i, ch := range changes {
		stats[i] = s.commit(ch)
	}
	s.reply(c, h, wire.OK, func(e *wire.Encoder) {
		for i, ch := range changes {
			encodeResult(e, ch, stats[i])
		}
		multiHeader{op: wire.OpError, done: true, err: -1}.encode(e)
	})
}
