package zktest

import (
	"math/rand/v2"
	"time"
)

// span is a range that a time is drawn from.
type span struct{ min, max time.Duration }

func (d span) draw(r *rand.Rand) time.Duration {
	return d.min + time.Duration(r.Int64N(int64(d.max-d.min)+1))
}

// peerLink carries what one server of an ensemble sends to another, in order.
type peerLink struct {
	e     *Ensemble
	to    *member
	rng   *rand.Rand
	isCut bool
	gen   int // of the instants given: a cut takes them back
	last  time.Duration
	queue []func()
}

// carry sends something: deliver runs when it arrives.
func (l *peerLink) carry(deliver func()) {
	l.queue = append(l.queue, deliver)
	if !l.isCut {
		l.book()
	}
}

// book gives the next arrival its instant, behind all others.
func (l *peerLink) book() {
	at := max(l.e.agenda.now()+l.e.delay.draw(l.rng), l.last+1)
	gen := l.gen
	l.last = l.to.at(at, func() {
		if gen != l.gen {
			return
		}
		deliver := l.queue[0]
		l.queue[0] = nil
		l.queue = l.queue[1:]
		deliver()
	})
}

// cut lets what is on its way, or sent later, wait. Nobody is told.
func (l *peerLink) cut() {
	l.isCut = true
	l.gen++
}

// heal lets what waited set out now, with a new delay each.
func (l *peerLink) heal() {
	if !l.isCut {
		return
	}
	l.isCut = false
	l.gen++
	for range l.queue {
		l.book()
	}
}
