package main

import (
	"context"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zklock"
)

// report tells the parent where this candidate stands, again and again.
func (c *candidate) report(ctx context.Context) {
	every := time.NewTicker(reporting)
	defer every.Stop()
	for {
		select {
		case <-every.C:
			c.say(c.status())
		case <-ctx.Done():
			return
		}
	}
}

func (c *candidate) status() report {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := report{What: saysStatus, State: c.state.String(), Ahead: c.ahead}
	if t := c.term; t != nil {
		// By the clock: after a stop this is the truth before any hook was called.
		r.State, r.Token, r.Remaining, r.Ahead = t.State().String(), t.Token(), t.Remaining(), 0
	}
	return r
}

func (c *candidate) leads(t *election.Term) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = t
}

// about says what happens in a term.
func (c *candidate) about(t *election.Term, what, text string) {
	c.say(report{What: what, State: t.State().String(), Token: t.Token(), Remaining: t.Remaining(), Text: text})
}

// trace follows the attempts, so that a loss is told at the moment at which this
// process knows of it.
func (c *candidate) trace() *zklock.Trace {
	return &zklock.Trace{
		State: func(_ zklock.Attempt, t zklock.Transition) {
			c.mu.Lock()
			c.state, c.ahead = t.To, 0
			c.mu.Unlock()
			switch {
			case t.To == zklock.Suspect, t.To == zklock.Lost, t.From == zklock.Suspect:
				r := c.status()
				r.What, r.State, r.Text = saysEvent, t.To.String(), fmt.Sprintf("%v → %v", t.From, t.To)
				c.say(r)
			}
		},
		Waiting: func(_ zklock.Attempt, _ string, ahead int) {
			c.mu.Lock()
			c.ahead = ahead
			c.mu.Unlock()
			r := c.status()
			r.What, r.Text = saysEvent, fmt.Sprintf("stands by, %d ahead", ahead)
			c.say(r)
		},
	}
}
