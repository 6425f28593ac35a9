package session

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
	"go.uber.org/zap"
)

var errHandshake = errors.New("zkconn: handshake")

// handshake reads the server's answer to the connect request and decides what
// the zk.Conn gets to see of it: this session's own, or, once the session has
// ended, a made-up one that keeps the zk.Conn quiet until it is closed. A
// session that the server does not know, or another one that it hands out, is
// this session's end; the zk.Conn never learns of it, or it would open a new
// session and send on it what was queued for this one.
func (c *conn) handshake() ([]byte, error) {
	s := c.s
	if !s.blown.Load() && c.sock != nil {
		resp, err := c.readResponse()
		if err == nil {
			err = s.connected(c, resp)
		}
		if err != nil && !s.blown.Load() {
			return nil, err
		}
	}
	if s.blown.Load() || c.sock == nil {
		return wire.AppendFrame(nil, s.placeholder().Append(nil)), nil
	}
	s.mu.Lock()
	resp := wire.ConnectResponse{TimeoutMs: int32(s.timeout.Milliseconds()), Session: s.id, Password: s.password}
	s.mu.Unlock()
	return wire.AppendFrame(nil, resp.Append(nil)), nil
}

func (c *conn) readResponse() (wire.ConnectResponse, error) {
	if err := c.sock.SetReadDeadline(time.Now().Add(c.limit)); err != nil {
		return wire.ConnectResponse{}, err
	}
	payload, err := wire.ReadFrame(c.sock, 4096)
	if err != nil {
		return wire.ConnectResponse{}, fmt.Errorf("%w: no answer within %v: %w", errHandshake, c.limit, err)
	}
	if err := c.sock.SetReadDeadline(time.Time{}); err != nil {
		return wire.ConnectResponse{}, err
	}
	return wire.ParseConnectResponse(payload)
}

// placeholder is a handshake for a zk.Conn whose session is over.
func (s *Session) placeholder() wire.ConnectResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.timeout
	if t == 0 {
		t = s.client.cfg.Timeout
	}
	return wire.ConnectResponse{TimeoutMs: int32(t.Milliseconds()), Session: max(s.id, 1), Password: make([]byte, 16)}
}

// connected judges the server's answer and, if it is this session's, makes c
// its connection.
func (s *Session) connected(c *conn, resp wire.ConnectResponse) error {
	now := s.now()
	timeout := time.Duration(resp.TimeoutMs) * time.Millisecond

	s.mu.Lock()
	switch {
	case s.reason != 0:
		s.mu.Unlock()
		return io.EOF
	case s.id == 0 && resp.Session == 0:
		s.mu.Unlock()
		return fmt.Errorf("%w: the server refused to open a session", errHandshake)
	case s.id != 0 && resp.Session == 0:
		s.mu.Unlock()
		s.end(Expired)
		return io.EOF
	case s.id != 0 && resp.Session != s.id:
		s.mu.Unlock()
		s.end(Replaced)
		return io.EOF
	case timeout <= 0:
		s.mu.Unlock()
		return fmt.Errorf("%w: the server granted a timeout of %v", errHandshake, timeout)
	case s.overdue(now):
		s.mu.Unlock()
		s.end(TrustRanOut)
		return io.EOF
	}
	s.id, s.password, s.timeout = resp.Session, resp.Password, timeout
	if s.conns == 0 {
		s.trust.rule = s.client.cfg.rule(timeout)
	} else {
		s.trust.renegotiate(timeout)
		// A default tick that gave way to a short timeout says nothing about servers
		// that grant a longer one.
		s.trust.tick = max(s.trust.tick, s.client.cfg.rule(timeout).tick)
	}
	c.touches = newTouches(s.trust.rule, timeout, c.began)
	s.up, s.upAt = true, now
	s.conns++
	n, next := s.conns, s.next
	s.next = make(chan struct{})
	s.mu.Unlock()

	if n == 1 {
		close(s.first)
	}
	close(next)
	s.wakeMonitor()
	s.wakeDebts()
	s.log.Debug("connected", zap.Stringer("server", c.RemoteAddr()), zap.Uint64("connection", n), zap.Duration("timeout", timeout))
	return nil
}

// down takes note that c is gone, and closes its socket: if the session ends next,
// nobody else has it.
func (s *Session) down(c *conn) {
	s.mu.Lock()
	// After the end the monitor still says goodbye on it.
	mine := s.wire == c && s.reason == 0
	if mine {
		if s.up {
			s.downAt = s.now()
			s.servers.ended(s.downAt-s.upAt, s.timeout)
		}
		s.wire, s.up = nil, false
	}
	s.mu.Unlock()
	if mine {
		c.cut()
		s.wakeMonitor()
	}
}

// answered takes in a reply: it may be a touch, a proof, or both.
func (s *Session) answered(c *conn, h wire.ReplyHeader) {
	now := s.now()
	s.mu.Lock()
	if s.reason != 0 || c.touches == nil {
		s.mu.Unlock()
		return
	}
	if s.overdue(now) {
		s.mu.Unlock()
		s.end(TrustRanOut)
		return
	}
	if h.Xid >= 0 {
		s.zxid = max(s.zxid, h.Zxid)
	}
	news := false
	if h.Xid == wire.XidPing {
		// Pings look alike; the oldest start is the safe one.
		if len(c.pings) > 0 {
			c.touches.answered(c.pings[0], now)
			c.pings = append(c.pings[:0], c.pings[1:]...)
		}
	} else if r, ok := c.sent[h.Xid]; ok {
		delete(c.sent, h.Xid)
		if r.op != wire.OpSetAuth { // the one request that a server takes without touching the session
			c.touches.answered(r.start, now)
		}
		if r.op.Commits() && h.Err.Definite() {
			if !s.trust.proven || r.start > s.trust.proof {
				s.sleptAt = r.slept
			}
			s.trust.learn(r.vouches, c.touches.timeout, r.start)
			if s.kept > 0 && !s.armed {
				until, ok := s.trust.until()
				s.armed = ok && now < until
			}
			// A session that is well stays so without the monitor's help.
			news = s.kept > 0 && s.suspicions%2 == 1
		}
	}
	s.mu.Unlock()
	if news {
		s.wakeMonitor()
	}
}
