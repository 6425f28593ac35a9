//go:build linux

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// commands is how many a leader writes before it resigns.
const commands = 8

var errHalted = errors.New("halted")

// leader is a worker's part in an election, beside its part at the lock: on the
// same session, with a resource of its own.
type leader struct {
	place
	*desk
	Config
	election *election.Election
	grants   chan grant // told by the trace, taken by the term that has begun

	ctx  context.Context // ends when the worker is to stop
	stop context.CancelCauseFunc
}

// grant says which attempt a term is.
type grant struct {
	attempt uint64
	token   fencing.Token
}

func newLeader(ctx context.Context, client *zkconn.Client, c Config, t *teller) (l *leader, err error) {
	l = &leader{place: place{t, c.Election}, desk: newDesk(t, c.Led), Config: c, grants: make(chan grant, 16)}
	l.ctx, l.stop = context.WithCancelCause(ctx)
	// Run begins attempts that nobody but the trace knows of.
	trace := l.trace()
	trace.State = func(a zklock.Attempt, s zklock.Transition) {
		if s.From == zklock.Idle && s.To == zklock.Acquiring {
			l.of(a.ID, history.Event{Kind: history.Began})
		}
	}
	trace.Granted = func(a zklock.Attempt, token fencing.Token) {
		l.of(a.ID, history.Event{Kind: history.Granted, Token: token})
		l.grants <- grant{a.ID, token}
	}
	trace.Failed = func(a zklock.Attempt, err error) {
		l.of(a.ID, history.Event{Kind: history.Failed, Reason: err.Error()})
	}
	l.election, err = election.New(client, c.Election, c.Identity, zklock.WithTrace(trace))
	return l, err
}

// lead stands for election and leads, again and again, until the worker is halted.
// A term that is lost is part of the story, and Run's to follow up.
func (w *worker) lead(o Order) Done {
	d := Done{Order: o.ID}
	if w.leader == nil {
		d.Err = "has no election"
		return d
	}
	l := w.leader
	for l.ctx.Err() == nil {
		err := l.election.Run(l.ctx, l.term)
		switch {
		case err == nil:
			d.Cycles++
		case !errors.Is(err, errHalted):
			d.Err = err.Error()
			return d
		}
	}
	return d
}

// term is one leadership: the floor first, then what the resource has, then a few
// commands, each sent only while the term is trusted. What is under way when it
// ends is not called back.
func (l *leader) term(ctx context.Context, t *election.Term) error {
	attempt, err := l.attempt(t.Token())
	if err != nil {
		return err
	}
	belief := l.believe(attempt, t)
	defer func() {
		belief()
		l.of(attempt, history.Event{Kind: history.Unlocking})
	}()
	for i := range commands + 2 {
		call := Write
		if i < 2 {
			call = []string{Raise, Read}[i]
		}
		if err := t.Ready(ctx, l.Timeout/16); err != nil {
			return err
		}
		a, err := l.send(context.WithoutCancel(ctx), l.next(), with(t, call, fmt.Sprintf("%s %d.%d", l.Name, attempt, i)))
		if err != nil {
			return err
		}
		if !a.OK {
			return l.superseded(ctx, t, a)
		}
		wait(ctx, l.Beat)
	}
	return nil
}

// attempt returns which one the term is.
func (l *leader) attempt(token fencing.Token) (uint64, error) {
	for {
		select {
		case g := <-l.grants:
			if g.token == token {
				return g.attempt, nil
			}
		case <-time.After(endTimeout):
			return 0, fmt.Errorf("the trace told nothing of the term %v", token)
		}
	}
}

// superseded waits for word of the end of a term that the resource knows to be
// over. No later one can have begun while this one is trusted.
func (l *leader) superseded(ctx context.Context, t *election.Term, a history.Answer) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(2 * l.Timeout):
	}
	if left := t.Remaining(); left > 0 {
		return fmt.Errorf("refused for %v, and still trusted for %v", a.Last, left)
	}
	// This process may have been stopped for as long.
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(endTimeout):
		return fmt.Errorf("refused for %v, and never told of the end", a.Last)
	}
}
