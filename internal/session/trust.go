package session

import "time"

// instant is monotonic time since the session object was made.
type instant = time.Duration

// rule holds the two settings of the trust arithmetic.
type rule struct {
	margin time.Duration // 0: a twentieth of the timeout in question
	tick   time.Duration // the servers' tick, or more
}

func (r rule) marginOf(timeout time.Duration) time.Duration {
	if r.margin > 0 {
		return r.margin
	}
	return timeout / 20
}

// ripe is how long a request must have been answered before a proof is sent,
// for that proof to show that the leader has heard of it: a follower relays
// its clients' activity every half tick.
func (r rule) ripe(timeout time.Duration) time.Duration { return r.tick/2 + timeout/50 }

// touches keeps, for one connection, the starts of answered requests until a
// proof can vouch for them.
//
// A leader touch at time a is known once a quorum proof p was answered and
//
//	a = the start of a handshake that was answered before p was sent, or
//	a = the start of a request on the same connection that had been answered
//	    at least ripe before p was sent.
type touches struct {
	rule
	timeout  time.Duration
	newest   instant // the newest start that a proof sent now would vouch for
	ripening []touch // answered too lately; both fields rise
}

type touch struct{ start, answered instant }

// newTouches begins a connection whose handshake began at start. Every proof
// on it is sent after the handshake was answered.
func newTouches(r rule, timeout time.Duration, start instant) *touches {
	return &touches{rule: r, timeout: timeout, newest: start}
}

// answered notes that a request begun at start was answered at now. To forget
// one is safe, so no more than one is kept per 1/256 of the timeout.
func (t *touches) answered(start, now instant) {
	if n := len(t.ripening); n > 0 {
		last := t.ripening[n-1]
		if start <= last.start || now-last.answered < t.timeout/256 {
			return
		}
	}
	t.ripening = append(t.ripening, touch{start, now})
}

// vouched returns the touch that a proof sent at now makes known when it is
// answered.
func (t *touches) vouched(now instant) instant {
	n := 0
	for n < len(t.ripening) && t.ripening[n].answered <= now-t.ripe(t.timeout) {
		t.newest = max(t.newest, t.ripening[n].start)
		n++
	}
	t.ripening = append(t.ripening[:0], t.ripening[n:]...)
	return t.newest
}

// trust is how long a session may be believed in: until the newest known
// leader touch, plus the timeout, less the margin.
type trust struct {
	rule
	known   bool
	touched instant       // newest known leader touch
	timeout time.Duration // the timeout that the ensemble counts from touched

	proven bool
	proof  instant // when the newest answered proof was sent
}

// learn takes in that a proof sent at sent was answered and vouches for a
// leader touch at a, made under timeout.
func (t *trust) learn(a instant, timeout time.Duration, sent instant) {
	if !t.known || a > t.touched {
		t.known, t.touched, t.timeout = true, a, timeout
	}
	if !t.proven || sent > t.proof {
		t.proven, t.proof = true, sent
	}
}

// renegotiate takes in the timeout granted at a reconnect: touches before it
// count with the smaller one, since the ensemble may have applied either.
func (t *trust) renegotiate(timeout time.Duration) { t.timeout = min(t.timeout, timeout) }

// until returns when trust ends; ok is false while there never was any.
func (t *trust) until() (at instant, ok bool) {
	return t.touched + t.timeout - t.marginOf(t.timeout), t.known
}
