package zktest

import "github.com/zkfence/zkfence/internal/wire"

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
	s.touch(c.session, c.timeout)
	switch h.Op {
	case OpCreate, OpCreate2, OpCreateContainer, wire.OpCreateTTL, OpDelete, OpSetData, OpSetACL, wire.OpCheck,
		OpMulti, OpCloseSession:
		s.write(c, h, d)
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
	j := &judge{tree: s.ahead.tree}
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
