package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
)

// attempt is one call to Lock or TryLock and what comes of it: the state
// machine, from begin until nothing of it is left on the ensemble.
//
// run is its goroutine and owns it. Two things may come from others, a loss and
// an Unlock; they take effect at once, under mu, and run cleans up after them.
type attempt struct {
	client *session.Client
	line   queue.Line
	cfg    *config
	trace  *tracer
	log    *zap.Logger
	op     string // for errors

	// ctx bounds the wait. It is here because the wait is on another goroutine
	// than the call; nothing looks at it once decided is closed.
	ctx context.Context
	try bool

	doing doing // run's own: what the wait is at, for its error

	decided chan struct{} // closed once hold or err stands
	hold    *Hold
	err     error

	ended chan struct{} // closed when a hold's ownership has ended, either way
	gone  chan struct{} // closed when state is Idle again

	refused   chan struct{}    // closed when a server has refused to let our node go
	departure *queue.Departure // whose refusal that is; set before refused is closed

	mu     sync.Mutex // never held across a channel operation that can wait, I/O or users' code
	state  State
	lost   *LostError
	proven bool // after gone: the release was answered
}

func newAttempt(ctx context.Context, m *Mutex, op string, try bool) *attempt {
	a := &attempt{
		client: m.client, line: m.line, cfg: &m.cfg, log: m.log, op: op, ctx: ctx, try: try,
		decided: make(chan struct{}), ended: make(chan struct{}), gone: make(chan struct{}), refused: make(chan struct{}),
	}
	if m.cfg.trace != nil {
		a.trace = &tracer{hooks: m.cfg.trace, at: Attempt{Path: m.line.Dir, ID: m.attempts.Add(1)}}
	}
	return a
}

// set is the only place where the state changes. False: the event came too late,
// and nothing has changed. mu is held.
func (a *attempt) set(e event) bool {
	to, err := next(a.state, e)
	if err != nil {
		return false
	}
	from := a.state
	a.state = to
	if a.hold != nil {
		switch e {
		case lose:
			a.hold.cancel(a.lost)
			close(a.ended)
		case unlock:
			a.hold.cancel(a.hold.released)
			close(a.ended)
		}
	}
	a.trace.state(Transition{From: from, To: to, Event: e.String()})
	return true
}

// move is set for whoever does not hold mu.
func (a *attempt) move(e event) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.set(e)
}

// run takes the attempt from begin to its end.
func (a *attempt) run() {
	a.move(begin)
	place, err := a.acquire()
	if err != nil {
		a.abandon(place, err)
		return
	}
	close(a.decided)
	a.keep(place)
}

// abandon ends an attempt without a grant. Its caller goes first: what has to be
// cleaned up can take as long as an outage does.
func (a *attempt) abandon(place *queue.Place, cause error) {
	err := fmt.Errorf("zklock: %s %s: %w", a.op, a.line.Dir, cause)
	if a.ctx.Err() != nil && errors.Is(cause, context.Cause(a.ctx)) {
		err = fmt.Errorf("%w, %v", err, a.doing)
	}
	a.move(giveUp)
	if a.try && errors.Is(cause, ErrLocked) {
		// TryLock leaves no node, if its ctx allows the round trip.
		d := place.Leave()
		select {
		case <-d.Done():
		case <-d.Refused():
			err = errors.Join(err, fmt.Errorf("zklock: %s %s: %w", a.op, a.line.Dir, d.Refusal()))
		case <-a.ctx.Done():
		}
		a.fail(err)
		a.leave(d)
		return
	}
	a.fail(err)
	if place == nil {
		a.vanish(true)
		return
	}
	a.leave(place.LeaveHere())
}

func (a *attempt) fail(err error) {
	a.err = err
	a.trace.failed(err)
	close(a.decided)
}

// leave waits until nothing of the attempt is left.
func (a *attempt) leave(d *queue.Departure) {
	select {
	case <-d.Done():
	case <-d.Refused():
		a.departure = d
		close(a.refused)
		<-d.Done()
	}
	a.vanish(d.Proven())
}

// vanish ends the attempt. proven: a majority says that no node of it is left.
func (a *attempt) vanish(proven bool) {
	a.mu.Lock()
	a.proven = proven
	a.set(gone)
	a.trace.released(proven)
	a.mu.Unlock()
	close(a.gone)
}

// keep stands by a hold until it has ended and its node is gone.
func (a *attempt) keep(place *queue.Place) {
	h := a.hold
	guarded := make(chan struct{})
	go func() { // ends with h.ctx; waited for below
		defer close(guarded)
		if errors.Is(place.Guard(h.ctx), queue.ErrGone) {
			h.lose(NodeDeleted)
		}
	}()
	// Last, so that the delete need not wait for it: they share nothing that the
	// other writes.
	defer func() { <-guarded }()
	h.watchSuspicion()
	h.claim.Release()
	h.unlimit()

	if lost := a.wasLost(); lost != nil {
		a.log.Info("lost", zap.Stringer("token", h.token), zap.Stringer("reason", lost.Reason))
		if h.session.Err() != nil {
			a.vanish(false) // the session takes the node with it
			return
		}
		a.move(sweep)
	}
	a.leave(place.LeaveHere())
}

func (a *attempt) wasLost() *LostError {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lost
}
