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
		s.welcome(c, r, s.newSession(timeout, false))
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
func (s *Server) newSession(timeout time.Duration, pinned bool) *session {
	t := txn{op: OpCreateSession, timeout: timeout, password: make([]byte, passwordLen), pinned: pinned}
	for t.session == 0 || s.sessions[t.session] != nil {
		t.session = s.rand.Int64()
	}
	binary.BigEndian.PutUint64(t.password, s.rand.Uint64())
	binary.BigEndian.PutUint64(t.password[8:], s.rand.Uint64())
	s.commit(&t, nil)
	sess := s.sessions[t.session]
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

// expire ends a session that its client has not asked to end: its ephemerals
// go, all under one zxid, and its connection is closed behind the events.
func (s *Server) expire(sess *session) {
	t := txn{op: OpCloseSession, session: sess.id, changes: s.farewell(sess.id)}
	s.commit(&t, nil)
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
