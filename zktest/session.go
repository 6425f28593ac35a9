package zktest

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

const passwordLen = 16

// session is a client's session. Server.mu guards it.
type session struct {
	id       int64
	password []byte
	timeout  time.Duration // as last negotiated
	due      time.Duration // when it expires, on the server's clock; a multiple of the tick
	conn     *conn         // the connection it is on, if any
	pinned   bool          // has no client behind it and does not expire
}

// connect serves the handshake. s.mu is held.
func (s *Server) connect(c *conn, payload []byte) {
	r, err := wire.ParseConnectRequest(payload)
	if err != nil || r.LastZxid > s.zxid {
		// A server never tells a client from the future that it has expired.
		s.close(c)
		return
	}
	timeout := min(max(time.Duration(r.TimeoutMs)*time.Millisecond, s.minTimeout), s.maxTimeout)
	if r.Session == 0 {
		s.welcome(c, r, s.newSession(timeout))
		return
	}
	sess := s.sessions[r.Session]
	if sess != nil && sess.conn != nil {
		// A move ends the old connection before anyone looks at the password.
		s.close(sess.conn)
	}
	if sess == nil || !bytes.Equal(sess.password, r.Password) {
		s.welcome(c, r, nil)
		return
	}
	sess.timeout = timeout
	s.touch(sess)
	s.welcome(c, r, sess)
}

// welcome answers the handshake; a nil session is one that is not known.
func (s *Server) welcome(c *conn, r wire.ConnectRequest, sess *session) {
	resp := wire.ConnectResponse{Password: make([]byte, passwordLen), HasReadOnly: r.HasReadOnly}
	if sess != nil {
		resp.Session, resp.Password = sess.id, sess.password
		resp.TimeoutMs = int32(sess.timeout / time.Millisecond)
		sess.conn, c.session = c, sess
	}
	e := &wire.Encoder{Buf: make([]byte, 4, 64)}
	e.Buf = resp.Append(e.Buf)
	s.send(c, sealFrame(e))
	if sess == nil {
		s.close(c)
	}
}

// newSession makes a session, which takes a zxid.
func (s *Server) newSession(timeout time.Duration) *session {
	s.zxid++
	sess := &session{timeout: timeout, password: make([]byte, passwordLen)}
	for sess.id == 0 || s.sessions[sess.id] != nil {
		sess.id = s.rand.Int64()
	}
	binary.BigEndian.PutUint64(sess.password, s.rand.Uint64())
	binary.BigEndian.PutUint64(sess.password[8:], s.rand.Uint64())
	s.sessions[sess.id] = sess
	s.touch(sess)
	return sess
}

// touch gives a session its whole timeout again, rounded up to the next tick.
func (s *Server) touch(sess *session) {
	sess.due = ((s.now()+sess.timeout)/s.tick + 1) * s.tick
	if !sess.pinned && sess.due < s.armed {
		s.retime = true
	}
}

// endSession deletes a session's ephemerals, all under one zxid. The events go
// to its own connection too, which the caller then closes.
func (s *Server) endSession(sess *session) {
	s.zxid++
	for _, path := range s.tree.ephemeralsOf(sess.id) {
		s.commit(change{op: OpDelete, path: path})
	}
	delete(s.sessions, sess.id)
}

// expire ends a session that its client has not asked to end.
func (s *Server) expire(sess *session) {
	s.endSession(sess)
	if sess.conn != nil {
		s.close(sess.conn)
	}
}

// expireDue ends the sessions whose time is over, the longest overdue first.
func (s *Server) expireDue() {
	now := s.now()
	var due []*session
	for _, sess := range s.sessions {
		if !sess.pinned && sess.due <= now {
			due = append(due, sess)
		}
	}
	slices.SortFunc(due, func(a, b *session) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
	})
	for _, sess := range due {
		s.expire(sess)
	}
}
