package zktest

import (
	"container/heap"
	"time"
)

// agendaLane is the lane (see laneWidth) of all that happens between servers. A
// network comes to it with its 2,048th link.
const agendaLane = laneWidth - 1

// agenda is what an ensemble's servers will do by themselves, by time. No two
// things happen at one instant, nor does one when a network delivers something:
// their order would be chance. The group's mutex guards it.
type agenda struct {
	g     *group
	items happenings
	taken map[time.Duration]bool
}

type happening struct {
	at time.Duration // since the group's epoch
	do func()
}

func newAgenda(g *group) *agenda { return &agenda{g: g, taken: map[time.Duration]bool{}} }

func (a *agenda) now() time.Duration { return time.Since(a.g.epoch) }

// add has do called at the first free instant that is not before at, and
// returns that instant.
func (a *agenda) add(at time.Duration, do func()) time.Duration {
	at = max(at, a.now()+1)
	nanos := a.g.epoch.UnixNano() + int64(at)
	at += time.Duration(((agendaLane-nanos)%laneWidth + laneWidth) % laneWidth)
	for a.taken[at] {
		at += laneWidth
	}
	a.taken[at] = true
	heap.Push(&a.items, happening{at, do})
	a.g.retime = a.g.retime || at < a.g.armed
	return at
}

// act does what is due and returns how long it is until more is, or never.
func (a *agenda) act() time.Duration {
	for len(a.items) > 0 && a.items[0].at <= a.now() {
		h := heap.Pop(&a.items).(happening)
		delete(a.taken, h.at)
		h.do()
	}
	a.g.armed = never
	if len(a.items) == 0 {
		return never
	}
	a.g.armed = a.items[0].at
	return a.g.armed - a.now()
}

type happenings []happening

func (h happenings) Len() int           { return len(h) }
func (h happenings) Less(i, j int) bool { return h[i].at < h[j].at }
func (h happenings) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *happenings) Push(x any)        { *h = append(*h, x.(happening)) }
func (h *happenings) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = happening{}
	*h = (*h)[:last]
	return x
}
