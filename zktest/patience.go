package zktest

import (
	"errors"
	"io"
	"os"
	"time"
)

const (
	// sessionless is how long a connection without a session may be silent, and
	// the unit in which that is looked at: one is given up between 10 and 20
	// seconds after the last byte, as by a real server.
	sessionless = 10 * time.Second

	// linger is how long a client whose connection has come to its end may take
	// to read what was sent before.
	linger = 10 * time.Second
)

// hurry gives up on a client that does not read the end of its connection. It
// never blocks.
func (c *conn) hurry() {
	// A connection that is closed has nothing left to hurry.
	_ = c.nc.SetWriteDeadline(time.Now().Add(linger))
}

// greeting reads a connection and gives it up while it has no session and is
// silent for too long.
type greeting struct {
	c    *conn
	over bool // there is a session, which ends the connection when it ends
	gone bool // given up
}

func (g *greeting) Read(p []byte) (int, error) {
	c := g.c
	for !g.over && !g.gone {
		left, begun := c.s.patience(c)
		if begun {
			g.over = true
			left = time.Time{}
		}
		if err := c.nc.SetReadDeadline(left); err != nil {
			return 0, err
		}
		n, err := c.nc.Read(p)
		if n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
		// All those who are late are so at one instant.
		c.tap.takeTurn(ToServer)
		g.gone = c.s.giveUp(c)
	}
	if g.gone {
		return 0, io.EOF
	}
	return c.nc.Read(p)
}

// patience returns until when a connection may be silent, and whether it has a
// session and may be silent for as long as that lives.
func (s *Server) patience(c *conn) (until time.Time, begun bool) {
	s.mu.Lock()
	defer s.unlock()
	if c.session != 0 || c.over {
		return time.Time{}, true
	}
	now := s.now()
	return time.Now().Add(((now+sessionless)/sessionless+1)*sessionless - now), false
}

// giveUp reports whether the time of a silent connection is over; it is not on
// a server that stands still, nor where a fault keeps the end from the client,
// nor if a session has begun while the reader waited: in an ensemble the leader
// grants it.
func (s *Server) giveUp(c *conn) bool {
	s.mu.Lock()
	stays := s.stalled != nil || c.session != 0
	s.unlock()
	if stays || c.tap.lost() {
		return false
	}
	c.tap.serverEnd()
	return true
}
