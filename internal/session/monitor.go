package session

import (
	"time"

	"go.uber.org/zap"
)

// live runs both goroutines of a session. They are one to Client.Go: if Close came
// between them, the monitor would wind down, and so would whoever was refused the
// other.
func (s *Session) live() {
	swept := make(chan struct{})
	go func() { // ends when the session does
		defer close(swept)
		s.sweeper()
	}()
	s.monitor()
	<-swept
}

// monitor is the session's own goroutine: it sends the keeper's proofs, closes a
// connection on which they hang, notices the turns in and out of Suspect, ends
// the session when its time is over, and winds down what is left after the end.
// What it decides, it decides in look; here it only acts.
func (s *Session) monitor() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		a := s.look()
		if a.turned != nil {
			close(a.turned)
		}
		switch {
		case a.ended:
			s.windDown()
			return
		case a.end != 0:
			s.end(a.end)
			continue
		case a.hung != nil:
			s.log.Info("no proof within a quarter of the session timeout: leaving this server", zap.Stringer("server", a.hung.RemoteAddr()))
			a.hung.cut()
			s.down(a.hung)
			continue
		case a.prove:
			s.keeperProof(a.claims)
			continue
		}
		timer.Reset(a.wait)
		select {
		case <-timer.C:
		case <-s.poke:
		}
	}
}

// action is what look wants done; wait holds where nothing is.
type action struct {
	ended  bool
	turned chan struct{}
	end    Reason
	hung   *conn
	prove  bool
	claims []*Claim
	wait   time.Duration
}

// idle is how long a monitor with nothing to do sleeps unless it is woken.
const idle = time.Hour

func (s *Session) look() (a action) {
	now, slept := s.now(), s.asleep()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reason != 0 {
		a.ended = true
		return a
	}
	if s.overdue(now) {
		a.end = TrustRanOut
		return a
	}
	next := now + idle
	if !s.up && s.conns > 0 {
		next = min(next, s.downAt+s.timeout)
	}
	if s.kept > 0 {
		a.turned = s.turn(s.suspect(now, slept))
		if s.trust.proven {
			if at := s.trust.proof + s.timeout/4; at > now {
				next = min(next, at)
			}
		}
		if until, ok := s.trust.until(); ok && until > now {
			s.armed = true
			next = min(next, until)
		}
		next = min(next, s.keeper(&a, now))
	}
	a.wait, s.wakeAt = max(next-now, 0), next
	return a
}

// keeper decides on the next proof, one every eighth of the timeout and one at
// a time, and on leaving a server that leaves one unanswered for a quarter.
func (s *Session) keeper(a *action, now instant) (next instant) {
	next = now + idle
	if !s.up {
		return next // a new connection wakes the monitor
	}
	if s.keeperBusy {
		at := max(s.keeperAt, s.upAt) + s.timeout/4
		if now < at {
			return at
		}
		a.hung = s.wire
		return now
	}
	due := s.keeperAt + s.timeout/8
	if s.reconnected() || !s.armed {
		due = min(due, max(s.upAt, s.keeperAt+s.timeout/64))
	}
	if now < due {
		return due
	}
	s.keeperAt, s.keeperBusy = now, true
	a.prove = true
	if n := len(s.claims); n > 0 {
		for i := range min(n, maxNamed) {
			a.claims = append(a.claims, s.claims[(s.keeperTurn+i)%n])
		}
		s.keeperTurn = (s.keeperTurn + len(a.claims)) % n
	}
	return now
}

// windDown says goodbye to the server and to the zk.Conn, in that order of
// urgency, and returns when the zk.Conn's goroutines have ended.
func (s *Session) windDown() {
	<-s.known // a monitor that is awake sees the end before the holders do
	s.mu.Lock()
	c, why, limit := s.wire, s.reason, s.timeout/6
	s.mu.Unlock()
	if limit == 0 {
		// No session was made that we know of; the goodbye is a courtesy.
		limit = min(s.client.cfg.Timeout/20, 250*time.Millisecond)
	}
	s.told = why == Expired
	if c != nil {
		if why == Expired {
			c.cut()
		} else {
			s.told = c.farewell(limit)
		}
	}
	// Close between two connections, and the zk.Conn's loop ends before it has
	// taken the closing request, for which Close then waits a whole second.
	ended := make(chan struct{})
	go func() { // ends when the zk.Conn does
		defer close(ended)
		for range s.events {
		}
	}()
	select {
	case <-s.parked:
	case <-ended: // an op has closed it, against the rules: it will never come to rest
	}
	s.zk.Close()
	<-ended
	s.sweepEnded()
	if !s.told && (why == TrustRanOut || why == Closed) {
		s.told = s.lastWord(why)
	}
	close(s.gone)
}
