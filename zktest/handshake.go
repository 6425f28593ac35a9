package zktest

import (
	"bytes"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// greet serves a handshake at a server of an ensemble: the leader has the say
// about sessions. Until it has spoken all that the client sends waits.
func (m *member) greet(c *conn, q wire.ConnectRequest, timeout time.Duration) {
	s := m.s
	if q.Session == 0 {
		id := s.newID()
		c.greeting = true
		r := &errand{c: c, judge: func(leader *Server) txn {
			t := leader.birth(id, timeout, false)
			leader.tracker[id].owner = m
			return *t
		}}
		r.finish = func(*txn, []Stat) {
			m.greeted(c, id, timeout)
			c.account.note(wire.RequestHeader{Op: OpCreateSession}, wire.OK, s.zxid, s.now())
		}
		c.line = append(c.line, r)
		m.submit(r)
		m.drain(c)
		return
	}
	if old := s.attached[q.Session]; old != nil {
		s.close(old)
	}
	switch {
	case !bytes.Equal(s.passwordOf(q.Session), q.Password):
		s.welcome(c, 0, timeout)
	case m.lead != nil:
		s.welcome(c, s.revalidate(m, q.Session, timeout), timeout)
	default:
		c.greeting = true
		b := m.bond
		b.post(m, func() {
			id := b.leader.s.revalidate(m, q.Session, timeout)
			b.post(b.leader, func() { m.greeted(c, id, timeout) })
		})
	}
}

// revalidate lets a session come to a server, and returns 0 if there is none.
func (s *Server) revalidate(at *member, id int64, timeout time.Duration) int64 {
	if !s.touch(id, timeout) {
		return 0
	}
	s.tracker[id].owner = at
	return id
}

// greeted welcomes a client and takes what it has sent meanwhile.
func (m *member) greeted(c *conn, id int64, timeout time.Duration) {
	if c.over {
		return
	}
	c.greeting = false
	m.s.welcome(c, id, timeout)
	held := c.held
	c.held = nil
	for _, payload := range held {
		c.out.release(len(payload))
		if !c.over {
			m.receive(c, payload)
		}
	}
}

// admits says whether a session may write through a server. Its end is not
// asked about: it comes from wherever it comes.
func (s *Server) admits(at *member, op Op, id int64) Code {
	if op == OpCloseSession {
		return wire.OK
	}
	t := s.tracker[id]
	switch {
	case t == nil || t.closing:
		return wire.SessionExpired
	case t.owner == nil:
		t.owner = at
	case t.owner != at:
		return wire.SessionMoved
	}
	return wire.OK
}
