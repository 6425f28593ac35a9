package zktest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// Lanes keep the arrivals of different links apart: a link only uses instants
// whose nanoseconds, modulo laneWidth, are its own odd number. Odd, because the
// round instants of tickers and timeouts are even.
const laneWidth = 4096

type latency struct{ min, max time.Duration }

func checkedLatency(min, max time.Duration) latency {
	if min < 0 || max < min || max > longest {
		panic(fmt.Sprintf("zktest: latency of min %v, max %v", min, max))
	}
	return latency{min, max}
}

// link carries what is sent from one host to another, in order. Network.mu
// guards it and is held when a parcel is delivered.
type link struct {
	n        *Network
	from, to string
	lane     int64
	rng      *rand.Rand
	latency  *latency // nil: the network's
	isCut    bool
	last     int64    // latest instant given to a parcel
	queue    []parcel // by instant; waits while cut
	batch    batch
	fast     []parcel // resets, by instant; a cut does not hold them
	timer    alarm
}

type parcel struct {
	at      int64
	c       *memConn // whose it is
	deliver func()
}

// link returns the link between two hosts, a new one if there is none.
func (n *Network) link(from, to string) *link {
	key := [2]string{from, to}
	if l := n.links[key]; l != nil {
		return l
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(from + "\x00" + to))
	l := &link{
		n: n, from: from, to: to,
		lane: int64(2*len(n.links)+1) % laneWidth,
		rng:  rand.New(rand.NewPCG(n.seed, h.Sum64())),
	}
	l.timer = alarm{n: n, fire: l.arrive}
	n.links[key] = l
	return l
}

// toLane returns the first instant of a lane that is not before at.
func toLane(at, lane int64) int64 {
	return at + ((lane-at)%laneWidth+laneWidth)%laneWidth
}

// draw returns the time that the next parcel takes.
func (l *link) draw() int64 {
	d := l.n.latency
	if l.latency != nil {
		d = *l.latency
	}
	return int64(d.min) + l.rng.Int64N(int64(d.max-d.min)+1)
}

// stamp gives a parcel that is sent now and takes d its instant, behind all
// others.
func (l *link) stamp(now, d int64) int64 {
	l.last = toLane(max(now+d, now+1, l.last+1), l.lane)
	return l.last
}

// batch is what was sent in one instant: the last parcels of a link's queue, in
// the order of their connections. Which of several goroutines sends first is
// chance, so that a later one may have to take its place among the earlier.
type batch struct {
	now   int64
	last  int64   // the link's last before it
	draws []int64 // in the order of the parcels, not of the calls
}

// carry sends a parcel of c's: deliver runs when it arrives.
func (l *link) carry(c *memConn, deliver func()) {
	if l.n.closed {
		return
	}
	now, b := l.n.now(), &l.batch
	if b.now != now {
		*b = batch{now: now, last: l.last, draws: b.draws[:0]}
	}
	start, i := len(l.queue)-len(b.draws), len(l.queue)
	for i > start && c.before(l.queue[i-1].c) {
		i--
	}
	b.draws = append(b.draws, l.draw())
	l.queue = slices.Insert(l.queue, i, parcel{c: c, deliver: deliver})
	if l.last = b.last; i > start {
		l.last = l.queue[i-1].at
	}
	for ; i < len(l.queue); i++ {
		l.queue[i].at = l.stamp(now, b.draws[i-start])
	}
	if start == 0 {
		l.arm()
	}
}

// express sends a parcel past all others and through a cut.
func (l *link) express(deliver func()) {
	if l.n.closed {
		return
	}
	at := toLane(l.n.now()+1, l.lane)
	for l.taken(at) {
		at += laneWidth
	}
	l.fast = append(l.fast, parcel{at: at, deliver: deliver})
	l.last = max(l.last, at)
	l.batch = batch{}
	l.arm()
}

func (l *link) taken(at int64) bool {
	for _, q := range [][]parcel{l.fast, l.queue} {
		for _, p := range q {
			if p.at == at {
				return true
			}
		}
	}
	return false
}

func (l *link) cut() {
	l.isCut = true
	l.arm()
}

func (l *link) heal() {
	if !l.isCut {
		return
	}
	l.isCut = false
	l.last = l.n.now()
	for _, p := range l.fast {
		l.last = max(l.last, p.at)
	}
	now := l.n.now()
	for i := range l.queue {
		l.queue[i].at = l.stamp(now, l.draw())
	}
	l.batch = batch{}
	l.arm()
}

func (l *link) drop() {
	l.queue, l.fast = nil, nil
	l.timer.stop()
}

// next returns the queue whose first parcel arrives next.
func (l *link) next() *[]parcel {
	switch {
	case len(l.queue) == 0 || l.isCut:
		if len(l.fast) == 0 {
			return nil
		}
		return &l.fast
	case len(l.fast) == 0 || l.queue[0].at < l.fast[0].at:
		return &l.queue
	}
	return &l.fast
}

func (l *link) arm() {
	if q := l.next(); q != nil {
		l.timer.set(time.Duration((*q)[0].at - l.n.now()))
		return
	}
	l.timer.stop()
}

// arrive delivers what is due. A delivery may send on this same link.
func (l *link) arrive() {
	for q := l.next(); q != nil && (*q)[0].at <= l.n.now(); q = l.next() {
		p := (*q)[0]
		(*q)[0] = parcel{}
		*q = (*q)[1:]
		p.deliver()
	}
	l.arm()
}
