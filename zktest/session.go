package zktest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

const passwordLen = 16

// session is a client's session, as every server knows it.
type session struct {
	id      int64
	timeout time.Duration // as first negotiated
	pinned  bool          // has no client behind it and does not expire
}

// passwordOf returns a session's password. Every server of a group knows it,
// also one that has not applied the session's begin yet.
func (g *group) passwordOf(session int64) []byte {
	r := rand.NewPCG(g.secret, uint64(session))
	p := make([]byte, passwordLen)
	binary.BigEndian.PutUint64(p, r.Uint64())
	binary.BigEndian.PutUint64(p[8:], r.Uint64())
	return p
}

// connect serves the handshake. s.mu is held.
func (s *Server) connect(c *conn, payload []byte) {
	r, err := wire.ParseConnectRequest(payload)
	if err != nil || r.LastZxid > s.zxid {
		// A server never tells a client from the future that it has expired.
		s.close(c)
		return
	}
	c.readOnly = r.HasReadOnly
	timeout := min(max(time.Duration(r.TimeoutMs)*time.Millisecond, s.minTimeout), s.maxTimeout)
	if s.member != nil {
		s.member.greet(c, r, timeout)
		return
	}
	if r.Session == 0 {
		s.welcome(c, s.newSession(timeout, false), timeout)
		c.account.note(wire.RequestHeader{Op: OpCreateSession}, wire.OK, s.zxid, s.now())
		return
	}
	if old := s.attached[r.Session]; old != nil {
		// A move ends the old connection before anyone looks at the password.
		s.close(old)
	}
	if !bytes.Equal(s.passwordOf(r.Session), r.Password) || !s.touch(r.Session, timeout) {
		r.Session = 0
	}
	s.welcome(c, r.Session, timeout)
}

// welcome answers the handshake; session 0 is one that is not known.
func (s *Server) welcome(c *conn, session int64, timeout time.Duration) {
	resp := wire.ConnectResponse{Password: make([]byte, passwordLen), HasReadOnly: c.readOnly}
	if session != 0 {
		if old := s.attached[session]; old != nil {
			// In an ensemble two handshakes of one session can wait for the leader.
			s.close(old)
		}
		resp.Session, resp.Password = session, s.passwordOf(session)
		resp.TimeoutMs = int32(timeout / time.Millisecond)
		c.session, c.timeout = session, timeout
		s.attached[session] = c
	}
	e := &wire.Encoder{Buf: make([]byte, 4, 64)}
	e.Buf = resp.Append(e.Buf)
	s.send(c, sealFrame(e))
	if session == 0 {
		s.close(c)
	}
}

// newSession begins a session, which takes a zxid, and returns its id.
func (s *Server) newSession(timeout time.Duration, pinned bool) int64 {
	id := s.newID()
	s.commit(s.birth(id, timeout, pinned), nil)
	return id
}

// newID returns an id that no session has or has had.
func (s *Server) newID() int64 {
	var id int64
	for id == 0 || s.sessions[id] != nil {
		id = s.rand.Int64()
	}
	return id
}

// birth begins a session, and to track it.
func (s *Server) birth(id int64, timeout time.Duration, pinned bool) *txn {
	s.tracker[id] = &tracked{id: id, pinned: pinned}
	s.touch(id, timeout)
	return &txn{op: OpCreateSession, session: id, timeout: timeout, pinned: pinned}
}

// farewell ends a session: all its ephemerals go under one zxid.
func (s *Server) farewell(id int64) txn {
	if t := s.tracker[id]; t != nil {
		t.closing = true
	}
	t := txn{op: OpCloseSession, session: id}
	for _, path := range s.ahead.tree.ephemeralsOf(id) {
		t.changes = append(t.changes, change{op: OpDelete, path: path})
	}
	return t
}

// expire ends a session that its client has not asked to end.
func (s *Server) expire(id int64) {
	t := s.farewell(id)
	t.expired = true
	s.commit(&t, nil)
}
