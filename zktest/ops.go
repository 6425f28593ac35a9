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
	switch h.Op {
	case OpSetAuth:
		s.auth(c, h, d)
		return
	case OpSASL:
		s.sasl(c, h, d)
		return
	}
	s.touch(c.session, c.timeout)
	if h.Op == OpReconfig {
		if decodeReconfig(d); d.Err() != nil { // takes no zxid, unlike other writes
			s.reply(c, h, wire.MarshallingError, nil)
			return
		}
	}
	if isWrite(h.Op) {
		s.write(c, h, d)
		return
	}
	s.serveRead(c, h, d)
}

// isWrite reports whether a request becomes a transaction.
func isWrite(op Op) bool {
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL, OpDelete, wire.OpDeleteContainer, OpSetData, OpSetACL,
		OpCheck, OpMulti, OpCloseSession, OpReconfig:
		return true
	}
	return false
}

// serveRead answers a request that changes nothing.
func (s *Server) serveRead(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	code, body, known := s.read(c, h.Op, d)
	if !known {
		s.send(c, sealFrame(newFrame(wire.ReplyHeader{Xid: h.Xid, Zxid: -1, Err: wire.Unimplemented})))
		s.close(c)
		return
	}
	if h.Op == OpPing {
		h.Xid = wire.XidPing // whatever the client's was
	}
	s.reply(c, h, code, body)
}

// reply queues the answer to a request.
func (s *Server) reply(c *conn, h wire.RequestHeader, code Code, body func(*wire.Encoder)) {
	c.account.note(h, code, s.zxid, s.now())
	e := newFrame(wire.ReplyHeader{Xid: h.Xid, Zxid: s.zxid, Err: code})
	if body != nil {
		body(e)
	}
	s.send(c, sealFrame(e))
}

// decide reads and judges a single write.
func (s *Server) decide(op Op, d *wire.Decoder, who author) (change, Code) {
	j := &judge{tree: s.ahead.tree}
	var do func() (change, Code)
	switch op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		r := decodeCreate(op, d)
		do = func() (change, Code) {
			c, code := j.create(op, r, who)
			if code == wire.OK && op == OpCreateTTL && c.kind != transient {
				return change{}, fatal // a real server finds the negative TTL when it applies it
			}
			return c, code
		}
	case OpDelete:
		r := decodeVersioned(d)
		do = func() (change, Code) { return j.delete(r, who) }
	case OpSetData:
		r := decodeSetData(d)
		do = func() (change, Code) { return j.setData(r, who) }
	case OpSetACL:
		r := decodeSetACL(d)
		do = func() (change, Code) { return j.setACL(r, who) }
	case OpCheck:
		r := decodeVersioned(d)
		do = func() (change, Code) {
			if _, code := j.check(r, who); code != wire.OK {
				return change{}, code
			}
			return change{}, fatal // outside of a multi there is no answer to it
		}
	case OpReconfig:
		return change{}, wire.ReconfigDisabled
	case wire.OpDeleteContainer:
		// The server's own, which reads what a client sends with it as a path that
		// has the request's header in it.
		return change{}, wire.BadArguments
	default:
		return change{}, wire.Unimplemented
	}
	if d.Err() != nil {
		return change{}, wire.MarshallingError
	}
	return do()
}
