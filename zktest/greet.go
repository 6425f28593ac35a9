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
	defer f.mu.Unlock()
	t.greeted = true
	switch {
	case f.holds(t, func(m *mode) bool { return m.refuse }):
		c.Fault = "Refuse"
		return nil, cut
	case t.isBlack():
		c.Fault = "Blackhole"
		return nil, drop
	case r.LastZxid > 0 && f.holds(t, func(m *mode) bool { return m.ahead }):
		c.Fault = "ZxidAhead"
		return nil, cut
	case f.applies(t, dropRequest, OpCreateSession):
		c.Fault = "DropRequest"
		return nil, cut
	case f.applies(t, dropReply, OpCreateSession):
		c.Fault = "DropReply"
		c.swallow = true
	case r.Session != 0 && f.applies(t, newSession, OpCreateSession):
		c.Fault = "NewSession"
		r.Session, r.Password = 0, make([]byte, 16)
		payload = r.Append(nil)
	}
	return payload, forward
}

func (t *tap) noteHello(r wire.ConnectRequest) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.mu.Unlock()
	t.session = r.Session
	c := &call{Request: f.log.add(t, 0, OpCreateSession, "")}
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
	defer f.mu.Unlock()
	t.welcomed = true
	switch {
	case t.isBlack():
		return drop
	case c != nil && c.swallow:
		return cut
	case f.holds(t, func(m *mode) bool { return m.half }):
		t.black = true
		return half
	}
	return forward
}

func (t *tap) noteWelcome(r wire.ConnectResponse) (*call, []*hook) {
	f := t.f
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Session != 0 {
		t.session = r.Session
		f.seen[r.Session] = credentialsFrom(r)
	}
	if len(t.waiting) == 0 {
		return nil, nil
	}
	c := t.waiting[0]
	t.waiting = t.waiting[1:]
	f.log.regrant(c.Request, t.session)
	c.Answered = true
	if r.Session == 0 {
		c.Err = wire.SessionExpired
	}
	return c, f.due(t, OpCreateSession, true)
}
