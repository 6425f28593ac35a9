package zktest

import (
	"sync"
	"time"
)

// group is what the servers of one ensemble share: a mutex, so that one step may
// touch them all, and the one goroutine that acts by itself. A standalone server
// is a group of its own.
type group struct {
	epoch  time.Time
	secret uint64 // what passwords are made of
	ended  chan struct{}
	wake   chan struct{} // tells keepTime to look again; capacity 1
	keeps  sync.WaitGroup

	// act does what is due and returns how long it is until it has to be called
	// again, or never. mu is held.
	act func() time.Duration

	// mu guards everything below, and the servers: pure state. It is never held
	// while a connection is used or a channel operated; what is to be sent waits
	// in a queue of its connection, and unlock wakes the writers.
	mu     sync.Mutex
	dirty  []*conn         // have something new in their queues
	ending []*conn         // take no more requests and have the rest of their queues to send
	doomed []*conn         // are to be shut at once: their writers are stuck
	told   []chan struct{} // are to be closed
	noted  []*Faults       // have something to tell their followers
	retime bool            // keepTime has to look again
	armed  time.Duration   // when it will by itself
}

func newGroup(name string, seed uint64) *group {
	return &group{
		epoch: time.Now(), secret: seeded(seed, "passwords of "+name).Uint64(),
		ended: make(chan struct{}), wake: make(chan struct{}, 1), armed: never,
	}
}

// start starts the goroutine that end ends.
func (g *group) start() {
	g.keeps.Add(1)
	go g.keepTime()
}

func (g *group) end() {
	close(g.ended)
	g.keeps.Wait()
}

// unlock releases mu and wakes whoever has something to do since.
func (g *group) unlock() {
	dirty, ending, doomed, told, noted, retime := g.dirty, g.ending, g.doomed, g.told, g.noted, g.retime
	g.dirty, g.ending, g.doomed, g.told, g.noted, g.retime = nil, nil, nil, nil, nil, false
	g.mu.Unlock()
	for _, f := range noted {
		f.mu.Lock()
		f.release()
	}
	for _, c := range doomed {
		c.shut()
	}
	for _, c := range ending {
		c.hurry()
	}
	for _, c := range dirty {
		c.out.signal()
	}
	for _, ch := range told {
		close(ch)
	}
	if retime {
		notice(g.wake)
	}
}

// keepTime sleeps until something is due, for good while nothing is.
func (g *group) keepTime() {
	defer g.keeps.Done()
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		g.mu.Lock()
		wait := g.act()
		g.retime = false
		g.unlock()

		if wait == never {
			timer.Stop()
		} else {
			timer.Reset(wait)
		}
		select {
		case <-timer.C:
		case <-g.wake:
		case <-g.ended:
			return
		}
	}
}
