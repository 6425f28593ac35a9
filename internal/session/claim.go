package session

import "sync/atomic"

// Keep makes the session prove itself: while anything keeps it, Context ends
// before the ensemble can give the session's ephemerals away. A session that
// has rested may have no trusted time when Keep is called; the promise holds
// from the moment that Remaining is above 0. release may be called more than
// once.
func (s *Session) Keep() (release func()) {
	now := s.now()
	s.mu.Lock()
	s.keep(now)
	s.mu.Unlock()
	s.wakeMonitor()
	var released atomic.Bool
	return func() {
		if released.CompareAndSwap(false, true) {
			s.letGo(nil)
		}
	}
}

// keep is called under mu.
func (s *Session) keep(now instant) {
	s.kept++
	if s.kept == 1 {
		// The newest proof, whoever sent it, begins the rhythm. One that is still on
		// its way is younger, and taken for older it would be taken for hung.
		if !s.keeperBusy {
			s.keeperAt = s.trust.proof
		}
		until, ok := s.trust.until()
		s.armed = ok && now < until
		if s.suspicions%2 == 1 {
			s.suspicions++
		}
	}
}

// letGo ends a keep, and c if it is a Claim's. A session that is over by the clock
// stays so, although nothing keeps it any more and its monitor has yet to run.
func (s *Session) letGo(c *Claim) {
	now := s.now()
	s.mu.Lock()
	s.over = s.over || s.overdue(now)
	over := s.over
	if s.kept--; s.kept == 0 {
		s.armed = false
	}
	if c != nil {
		s.drop(c)
	}
	s.mu.Unlock()
	if over {
		s.wakeMonitor()
	}
}

// Claim is a held node that the keeper's proofs name.
type Claim struct {
	s        *Session
	node     string
	lost     func(Reason)
	told     atomic.Bool
	released atomic.Bool
}

// Claim keeps s for node. ok is false, and nothing is kept, if the session has
// ended or no trusted time is left.
//
// lost is called at most once: before the closeSession frame of an ending
// session is written, or as soon as a proof answers that node is gone
// (NodeGone). It is called without locks on whatever goroutine found out, must
// not block, and can run at the same time as Release.
func (s *Session) Claim(node string, lost func(Reason)) (c *Claim, ok bool) {
	now, slept := s.now(), s.asleep()
	c = &Claim{s: s, node: node, lost: lost}
	s.mu.Lock()
	if s.overdue(now) || s.remaining(now, slept) <= 0 || s.suspect(now, slept) {
		s.mu.Unlock()
		s.wakeMonitor()
		return nil, false
	}
	s.keep(now)
	s.armed = true
	s.claims = append(s.claims, c)
	due := s.keeperAt + s.timeout/8
	s.mu.Unlock()
	s.wakeMonitorBy(due)
	return c, true
}

// Release ends the claim; it may be repeated.
func (c *Claim) Release() {
	if !c.released.CompareAndSwap(false, true) {
		return
	}
	c.s.letGo(c)
}

func (s *Session) drop(c *Claim) {
	for i, o := range s.claims {
		if o == c {
			s.claims = append(s.claims[:i], s.claims[i+1:]...)
			return
		}
	}
}

func (c *Claim) tell(why Reason) {
	if c.told.CompareAndSwap(false, true) {
		c.lost(why)
	}
}
