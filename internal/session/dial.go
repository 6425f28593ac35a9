package session

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"go.uber.org/zap"
)

// handshakeLimit bounds a dial and, separately, the answer to the connect
// request. A hung server's kernel still accepts, so without it a client would
// wait there until its session is gone. A first session is given more: to make
// one is a quorum commit.
func (s *Session) handshakeLimit() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conns == 0 {
		return min(s.client.cfg.Timeout, 10*time.Second) / 3
	}
	return s.timeout / 6
}

// dial is the zk.Conn's dialer and the first half of the fuse: after the end of
// the session it dials nobody and hands out a connection that leads nowhere.
func (s *Session) dial(network, address string, _ time.Duration) (net.Conn, error) {
	timeout := s.Timeout()
	if timeout == 0 {
		timeout = s.client.cfg.Timeout
	}
	s.warnOfDelay(timeout)
	if d := s.servers.pause(timeout); d > 0 {
		t := time.NewTimer(d)
		select {
		case <-t.C:
		case <-s.fused:
			t.Stop()
		}
	}
	if s.blown.Load() {
		return newConn(s, nil, 0), nil
	}
	limit := s.handshakeLimit()
	sock, err := s.openWithin(s.ctx, network, address, limit)
	if s.blown.Load() {
		if sock != nil {
			_ = sock.Close() // nothing was sent on it
		}
		return newConn(s, nil, 0), nil
	}
	if err != nil {
		s.servers.failed(address, err)
		return nil, err
	}
	c := newConn(s, sock, limit)
	c.server = address
	if !s.adopt(c) {
		c.cut()
		return newConn(s, nil, 0), nil
	}
	return c, nil
}

// adopt makes c the session's connection, so that the end of the session finds
// and closes it; false if the session has already ended.
func (s *Session) adopt(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != 0 {
		return false
	}
	s.wire, s.up = c, false
	return true
}

// openWithin dials within limit, or until ctx ends. A dialer of the user's
// that takes longer is left behind and its connection closed when it comes; it
// is the user's code, and Close does not wait for it.
func (s *Session) openWithin(ctx context.Context, network, address string, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	type result struct {
		sock net.Conn
		err  error
	}
	got := make(chan result)
	go func() {
		sock, err := s.client.cfg.connect(ctx, network, address, limit)
		select {
		case got <- result{sock, err}:
		case <-ctx.Done():
			if sock != nil {
				_ = sock.Close() // nothing was sent on it
			}
		}
	}()
	select {
	case r := <-got:
		return r.sock, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

var errNoConn = errors.New("zkconn: the dialer returned neither a connection nor an error")

func (c *Config) connect(ctx context.Context, network, address string, limit time.Duration) (net.Conn, error) {
	var sock net.Conn
	var err error
	if c.Dialer != nil {
		sock, err = c.Dialer(network, address, limit)
	} else {
		sock, err = (&net.Dialer{}).DialContext(ctx, network, address)
	}
	if err == nil && sock == nil {
		err = errNoConn
	}
	if err != nil || c.TLS == nil {
		return sock, err
	}
	cfg := c.TLS
	if cfg.ServerName == "" && !cfg.InsecureSkipVerify {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			_ = sock.Close() // nothing was sent on it
			return nil, err
		}
		cfg = cfg.Clone()
		cfg.ServerName = host
	}
	secure := tls.Client(sock, cfg)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = sock.Close() // the handshake failed: there is nobody to tell
		return nil, err
	}
	return secure, nil
}

// zkLogger passes the zk.Conn's own lines on at debug level: what matters in
// them is said by us, at the level that it deserves.
type zkLogger struct{ *zap.SugaredLogger }

func (l zkLogger) Printf(format string, args ...any) { l.Debugf(format, args...) }
