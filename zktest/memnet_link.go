package zktest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Lanes keep the arrivals of different links apart: a link only uses instants
// whose nanoseconds, modulo laneWidth, are its own odd number. Odd, because the
// round instants of tickers and timeouts are even.
const laneWidth = 4096

type latency struct{ min, max time.Duration }

func checkedLatency(min, max time.Duration) latency {
	if min < 0 || max < min {
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
	fast     []parcel // resets, by instant; a cut does not hold them
	timer    alarm
}

type parcel struct {
	at      int64
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

// onLane returns the first instant of the lane that is not before at.
func (l *link) onLane(at int64) int64 {
	return at + ((l.lane-at)%laneWidth+laneWidth)%laneWidth
}

// stamp gives the next parcel its instant, behind all others.
func (l *link) stamp() int64 {
	d := l.n.latency
	if l.latency != nil {
		d = *l.latency
	}
	at := l.n.now() + int64(d.min) + l.rng.Int64N(int64(d.max-d.min)+1)
	l.last = l.onLane(max(at, l.last+1))
	return l.last
}

// carry sends a parcel: deliver runs when it arrives.
func (l *link) carry(deliver func()) {
	if l.n.closed {
		return
	}
	l.queue = append(l.queue, parcel{l.stamp(), deliver})
	if len(l.queue) == 1 {
		l.arm()
	}
}

// express sends a parcel past all others and through a cut.
func (l *link) express(deliver func()) {
	if l.n.closed {
		return
	}
	at := l.onLane(l.n.now() + 1)
	for l.taken(at) {
		at += laneWidth
	}
	l.fast = append(l.fast, parcel{at, deliver})
	l.last = max(l.last, at)
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
	for i := range l.queue {
		l.queue[i].at = l.stamp()
	}
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
