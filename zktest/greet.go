package zktest

import "github.com/zkfence/zkfence/internal/wire"

// hello judges the client's handshake.
func (t *tap) hello(payload []byte) ([]byte, verdict) {
	r, err := wire.ParseConnectRequest(payload)
	if err != nil {
		t.greeted = true
		return payload, forward
	}
	c, hooks := t.noteHello(r)
	run(hooks, *c.Request)
	if !t.flows(ToServer) {
		return nil, cut
	}
	f := t.f
	f.mu.Lock()
	defer f.release()
	t.greeted = true
	switch {
	case f.holds(t, func(m *mode) bool { return m.refuse }):
		t.broke(c.Request, "Refuse")
		return nil, cut
	case t.isBlack():
		t.broke(c.Request, "Blackhole")
		return nil, drop
	case r.LastZxid > 0 && f.holds(t, func(m *mode) bool { return m.ahead }):
		t.broke(c.Request, "ZxidAhead")
		return nil, cut
	case f.applies(t, dropRequest, OpCreateSession):
		t.broke(c.Request, "DropRequest")
		return nil, cut
	case f.applies(t, dropReply, OpCreateSession):
		t.broke(c.Request, "DropReply")
		c.swallow = true
	case r.Session != 0 && f.applies(t, newSession, OpCreateSession):
		t.broke(c.Request, "NewSession")
		r.Session, r.Password = 0, make([]byte, 16)
		payload = r.Append(nil)
	}
	return payload, forward
}

func (t *tap) noteHello(r wire.ConnectRequest) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.release()
	t.session = r.Session
	c := &call{Request: t.asked(0, OpCreateSession, "")}
	t.waiting = append(t.waiting, c)
	return c, f.due(t, OpCreateSession, false)
}

// welcome judges the server's handshake.
func (t *tap) welcome(payload []byte) verdict {
	r, err := wire.ParseConnectResponse(payload)
	if err != nil {
		t.welcomed = true
		return forward
	}
	c, hooks := t.noteWelcome(r)
	if c != nil {
		run(hooks, *c.Request)
	}
	if !t.flows(ToClient) {
		return cut
	}
	f := t.f
	f.mu.Lock()
	defer f.release()
	t.welcomed = true
	switch {
	case t.isBlack():
		if c != nil {
			t.broke(c.Request, "Blackhole")
		}
		return drop
	case c != nil && c.swallow:
		return cut
	case f.holds(t, func(m *mode) bool { return m.half }):
		t.black = true
		if c != nil {
			t.broke(c.Request, "HalfHandshake")
		}
		return half
	}
	return forward
}

func (t *tap) noteWelcome(r wire.ConnectResponse) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.release()
	if r.Session != 0 {
		t.session = r.Session
		t.began(r.Session)
		if f.infers { // a server knows its sessions itself
			f.seen[r.Session] = credentialsFrom(r)
		}
	}
	if len(t.waiting) == 0 {
		return nil, nil
	}
	c := t.waiting[0]
	t.waiting = t.waiting[1:]
	f.log.regrant(c.Request, t.session)
	code := wire.OK
	if r.Session == 0 {
		code = wire.SessionExpired
		t.inferred(c.Session, endExpired)
	}
	t.answered(c.Request, code, 0)
	return c, f.due(t, OpCreateSession, true)
}
