package zktest

import "time"

// never is later than every instant on the server's clock.
const never = time.Duration(1<<63 - 1)

// longest is the longest time that can be asked for: sums of a few are instants
// that a Duration can still tell.
const longest = 100 * 365 * 24 * time.Hour

// now reads the server's clock, which stands still while it is stalled.
func (s *Server) now() time.Duration {
	if s.stalled != nil {
		return s.stoppedAt
	}
	return time.Since(s.group.epoch) - s.lost
}

// reapsLater reports whether there is something to be reaped by and by, which
// the clock does not know yet.
func (s *Server) reapsLater() bool {
	return s.member == nil && s.reapDue == never && s.reapEvery > 0 && len(s.tree.empty)+len(s.tree.transient) > 0
}

// nextDue returns when the clock has something to do, or never.
func (s *Server) nextDue() time.Duration {
	if s.stalled != nil {
		return never
	}
	next := never
	for _, t := range s.tracker {
		if !t.pinned {
			next = min(next, t.due)
		}
	}
	if s.reapsLater() {
		s.reapDue = (s.now()/s.reapEvery + 1) * s.reapEvery
	}
	return min(next, s.reapDue)
}

// act is what a standalone server does by itself: it ends sessions and reaps
// containers.
func (s *Server) act() time.Duration {
	if s.stalled == nil {
		s.expireDue()
		if s.now() >= s.reapDue {
			s.reap()
			s.reapDue = never
		}
	}
	s.armed = s.nextDue()
	if s.armed == never {
		return never
	}
	return s.armed - s.now()
}

// Stall stops the server, or lets it go on: meanwhile it processes nothing,
// expires nothing, and its clock stands still, so that sessions have as much
// time left after it as before. Connections are accepted and stay open; what
// arrived is processed afterwards, each connection's frames in order.
//
// A stalled server of an ensemble is a process that has been stopped: what the
// others send it waits as well, and they give it up. Its clock goes on.
func (s *Server) Stall(on bool) {
	s.mu.Lock()
	s.acted("Stall", Request{}, onOff(on))
	var resume chan struct{}
	switch {
	case on && s.stalled == nil:
		s.stoppedAt = s.now()
		s.stalled = make(chan struct{})
	case !on && s.stalled != nil:
		resume, s.stalled = s.stalled, nil
		if s.member != nil {
			s.member.goOn()
			break
		}
		s.lost = time.Since(s.group.epoch) - s.stoppedAt
		s.retime = true
	}
	s.unlock()
	if resume != nil {
		close(resume)
	}
}

// admitted waits while the server is stalled and returns with s.mu held; false,
// without it, if the connection has ended meanwhile.
func (s *Server) admitted(c *conn) bool {
	for {
		s.mu.Lock()
		stalled := s.stalled
		if stalled == nil {
			return true
		}
		s.mu.Unlock()
		select {
		case <-stalled:
		case <-c.done:
			return false
		}
		c.tap.takeTurn(ToServer)
	}
}
