package zktest

import (
	"math/rand/v2"
	"time"
)

// lateQueue is what a server has learned of and not applied yet. The group's
// mutex guards it.
type lateQueue struct {
	rng   *rand.Rand
	delay span          // of a follower
	lag   time.Duration // more of it, by Lag
	last  time.Duration // the latest instant in it, without lag
	gen   int
	items []happening // by time, without lag

	booked time.Duration // the latest instant given: looked for among the taken ones, it would cost more with each
}

func (q *lateQueue) add(m *member, do func()) {
	now := m.e.agenda.now()
	at := now
	if m.lead == nil {
		at += q.delay.draw(q.rng)
	}
	at = max(at, q.last)
	if len(q.items) == 0 && at+q.lag <= now {
		do()
		return
	}
	q.last = at
	q.items = append(q.items, happening{at, do})
	q.book(m, at)
}

func (q *lateQueue) book(m *member, at time.Duration) {
	gen := q.gen
	q.booked = m.at(max(at+q.lag, q.booked+1), func() {
		if gen != q.gen {
			return
		}
		do := q.items[0].do
		q.items[0] = happening{}
		q.items = q.items[1:]
		do()
	})
}

// setLag changes the lag of what waits, too.
func (q *lateQueue) setLag(m *member, lag time.Duration) {
	q.lag, q.booked = lag, 0
	q.gen++
	for _, h := range q.items {
		q.book(m, h.at)
	}
}

func (q *lateQueue) clear() {
	q.items = nil
	q.gen++
	q.last, q.booked = 0, 0
}
