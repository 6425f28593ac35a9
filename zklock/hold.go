package zklock

import (
	"context"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
)

// Hold is one ownership of the lock, from its grant to its end. It is safe for
// concurrent use, and harmless once it has ended: Token and Next still answer,
// because a resource that refuses them names the right thing, Remaining is 0, and
// nothing it does touches a later hold. Lock makes one; the zero Hold is of no use.
type Hold struct {
	a       *attempt
	session *session.Session
	node    string
	ctx     context.Context // the hold's own life, not that of any call
	cancel  context.CancelCauseFunc
	token   fencing.Token
	seq     *fencing.Sequencer
	// The cause of ctx after an Unlock: ErrReleased in an error of this hold's own,
	// for Unlock must tell its own end of a context from another hold's.
	released error

	claim      *session.Claim
	early      Reason // lost before it was granted; under a.mu
	suspicions uint64 // at the grant
	deadline   time.Time
	timer      *time.Timer // nil without WithMaxHold
	expired    chan struct{}
}

func newHold(a *attempt, place *queue.Place) (*Hold, error) {
	token, err := fencing.FromUint64(uint64(place.Czxid()))
	if err != nil {
		return nil, err
	}
	h := &Hold{a: a, session: place.Session(), node: place.Path(), token: token, seq: fencing.NewSequencer(token), released: fmt.Errorf("%w", ErrReleased)}
	// The values of the acquire context and nothing else: with its end, or its
	// deadline, every hold would be over when Lock's timeout is.
	h.ctx, h.cancel = context.WithCancelCause(fencing.NewContext(context.WithoutCancel(a.ctx), token))
	return h, nil
}

// Context carries the Token and the values of the context that Lock was called
// with. It ends when the hold does, with a cause that matches ErrLost (a
// *LostError) or ErrReleased; its Err is always context.Canceled.
//
// It ends before another client can be granted the lock, as long as this process
// runs, its monotonic clock keeps pace with the servers', and nobody removes the
// node or ends the session by hand: after an operator's delete, or on a wiped
// ensemble, it ends when this process hears of it, and somebody else may hold the
// lock by then. A process that was stopped may see it end late too: ask Remaining
// or Ready before work that needs time, and have the resource check the Token.
func (h *Hold) Context() context.Context { return h.ctx }

// Token is this ownership's: larger than that of every hold of this path before
// it, smaller than that of every hold after it. It says nothing about whether
// the hold has ended.
func (h *Hold) Token() fencing.Token { return h.token }

// Next returns the Stamp of the next command: the Token and 1, 2, 3 and so on.
// A retry of a command reuses its Stamp. It does not look whether the hold has
// ended; the resource does.
func (h *Hold) Next() fencing.Stamp { return h.seq.Next() }

// Remaining is the time for which the hold may be trusted, by the clock at the
// call: how long it lasts if nothing more is heard from the ensemble. It is 0 or
// less when the hold is over, and while the process's clocks disagree because
// the machine slept. That some is left does not make a write safe.
func (h *Hold) Remaining() time.Duration {
	left := h.session.Remaining()
	if h.timer != nil {
		left = min(left, time.Until(h.deadline))
	}
	// Looked at last: a session that ends in between would show its end here, and
	// the context of the hold not yet.
	if !h.owned() {
		return 0
	}
	return left
}

// State is the hold's, by the clock at the call: Held, Suspect, Lost, or after
// an Unlock Releasing; Idle once its node is gone. It is for logs and status
// pages; to act on it is to check, then act.
func (h *Hold) State() State {
	owned := h.owned()
	h.a.mu.Lock()
	s, lost := h.a.state, h.a.lost != nil
	h.a.mu.Unlock()
	switch {
	case owned && h.session.Suspect():
		return Suspect
	case owned:
		return Held
	case lost && s == Releasing:
		return Lost // what is swept is the node; the hold was lost before
	}
	return s
}

// Ready returns nil once the hold is Held with at least need of trusted time,
// and waits while it is Suspect or has less. It is never nil on a ctx that has
// ended: that error wraps ctx's cause and comes before all others. Otherwise the
// error is the *LostError, ErrReleased, or ErrTooLong if waiting cannot bring that
// much: proofs give at most the session timeout less the margin, half a server
// tick and a fiftieth, and WithMaxHold less and less. A nil is true of the moment it was made in; between it and the next
// write the process can be stopped.
func (h *Hold) Ready(ctx context.Context, need time.Duration) error {
	for {
		if ctx.Err() != nil {
			return fmt.Errorf("zklock: ready %s: %w", h.a.line.Dir, context.Cause(ctx))
		}
		_, turned := h.session.Suspicion()
		switch state := h.State(); {
		case h.ctx.Err() != nil:
			return context.Cause(h.ctx)
		case state == Held && h.Remaining() >= need:
			return nil
		case need > h.longest():
			return fmt.Errorf("%w: %v, of at most %v", ErrTooLong, need, h.longest())
		}
		// A proof that adds trusted time without a change of state tells nobody.
		timer := time.NewTimer(h.session.Timeout() / 32)
		select {
		case <-turned:
		case <-timer.C:
		case <-h.ctx.Done():
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// longest bounds what waiting can make of Remaining.
func (h *Hold) longest() time.Duration {
	most := h.session.Lasting()
	if h.timer != nil {
		most = min(most, time.Until(h.deadline))
	}
	return most
}

// Internal is for this module's own packages: nobody else can name its type.
func (h *Hold) Internal() queue.Held { return queue.Held{Session: h.session, Node: h.node} }

// owned looks at the clock, makes a loss of what it shows, and reports whether
// the hold still stands.
func (h *Hold) owned() bool {
	why := h.session.Ended()
	switch {
	case h.timer != nil && time.Until(h.deadline) <= 0:
		h.lose(MaxHold)
	case why != 0:
		h.lose(reasonOf(why))
	case h.a.cfg.eager && h.doubted():
		h.lose(EagerLoss)
	}
	return h.ctx.Err() == nil
}

// doubted reports that the session is suspect or was, however shortly, since the
// grant.
func (h *Hold) doubted() bool {
	n, _ := h.session.Suspicion()
	return n != h.suspicions || h.session.Suspect()
}

// lose ends the hold for good. It is called on any goroutine, the session's own
// among them, and returns with the context ended and without having waited.
func (h *Hold) lose(why Reason) {
	a := h.a
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.hold != h {
		h.early = why // grant has not come to it yet, and will see this
		return
	}
	if a.lost != nil || a.state != Held && a.state != Suspect {
		return
	}
	a.lost = &LostError{Path: a.line.Dir, Token: h.token, Reason: why}
	a.set(lose)
	a.trace.lost(a.lost)
}

// limit starts the maximum hold time.
func (h *Hold) limit(d time.Duration) {
	h.deadline = time.Now().Add(d)
	h.expired = make(chan struct{})
	h.timer = time.AfterFunc(d, func() {
		defer close(h.expired)
		h.lose(MaxHold)
	})
}

// unlimit stops the timer and waits for what it has started.
func (h *Hold) unlimit() {
	if h.timer != nil && !h.timer.Stop() {
		<-h.expired
	}
}

// watchSuspicion moves the state between Held and Suspect until the hold ends.
func (h *Hold) watchSuspicion() {
	seen := h.suspicions
	for {
		n, turned := h.session.Suspicion()
		if n != seen && h.a.cfg.eager {
			h.lose(EagerLoss)
		}
		// Odd is suspect. More than two turns at once are told as a blip.
		if n > seen+2 {
			seen = n - 2 - (n-seen)%2
		}
		h.a.mu.Lock()
		for ; seen < n; seen++ {
			if seen%2 == 0 {
				h.a.set(suspect)
			} else {
				h.a.set(heal)
			}
		}
		h.a.mu.Unlock()
		select {
		case <-turned:
		case <-h.a.ended:
			return
		}
	}
}
