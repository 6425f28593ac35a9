package election

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zklock"
)

// Term is one leadership, from its grant to its end. It is safe for concurrent
// use, and harmless once it has ended: Token and Next still answer, and nothing
// it does touches a later term. Run and Campaign make one; the zero Term is of no
// use.
type Term struct {
	e     *Election
	h     *zklock.Hold
	turn  chan struct{} // capacity 1: one SetInfo has a request under way
	info  atomic.Pointer[string]
	ended atomic.Pointer[time.Time] // nil while it stands
	run   bool                      // lead's, which turns away by returning
	left  atomic.Bool               // its holder has turned away from it
}

func newTerm(e *Election, h *zklock.Hold, run bool) *Term {
	t := &Term{e: e, h: h, run: run, turn: make(chan struct{}, 1)}
	t.info.Store(&e.info)
	context.AfterFunc(h.Context(), func() {
		now := time.Now()
		t.ended.Store(&now)
	})
	return t
}

// Internal is for this module's own packages: nobody else can name its type.
func (t *Term) Internal() queue.Held { return t.h.Internal() }

// stands looks at the clock.
func (t *Term) stands() bool {
	s := t.h.State()
	return s == zklock.Held || s == zklock.Suspect
}

// over is for how long it has been so, as far as that has been noticed.
func (t *Term) over() time.Duration {
	if at := t.ended.Load(); at != nil {
		return time.Since(*at)
	}
	return 0
}

// Context carries the Token. It ends when the term does, before another
// candidate can lead, with a cause that matches zklock.ErrLost (a
// *zklock.LostError) or zklock.ErrReleased: as long as this process runs, its
// clock keeps pace with the servers', and nobody removes the node or ends the
// session by hand.
func (t *Term) Context() context.Context { return t.h.Context() }

// Token is this term's: larger than that of every term of this path before it,
// smaller than that of every one after it. It says nothing about whether the term
// has ended.
func (t *Term) Token() fencing.Token { return t.h.Token() }

// Next returns the Stamp of the next command: the Token and 1, 2, 3 and so on. A
// retry of a command reuses its Stamp. It does not look whether the term has
// ended; whoever receives the command does.
func (t *Term) Next() fencing.Stamp { return t.h.Next() }

// Remaining is the time for which the term may be trusted, by the clock at the
// call: how long it lasts if nothing more is heard from the ensemble. It is 0 or
// less when the term is over, and while the process's clocks disagree because the
// machine slept. That some is left does not make a write safe.
func (t *Term) Remaining() time.Duration { return t.h.Remaining() }

// Ready returns nil once the term is Held with at least need of trusted time, and
// waits while it is Suspect or has less. The error wraps ctx's cause, the
// *zklock.LostError, zklock.ErrReleased, or zklock.ErrTooLong if waiting cannot
// bring that much.
func (t *Term) Ready(ctx context.Context, need time.Duration) error {
	if err := t.h.Ready(ctx, need); err != nil {
		return fmt.Errorf("election: ready: %w", err)
	}
	return nil
}

// State is the term's, by the clock at the call. It is for logs and status pages;
// to act on it is to check, then act.
func (t *Term) State() zklock.State { return t.h.State() }

// Resign gives the leadership back. It, and Context, end when Resign starts,
// whatever it returns. Nil: the node is proven to be deleted, and the next
// candidate leads. The *zklock.LostError if the term was lost first. Else as
// zklock.Hold's Unlock: what could not be done within ctx is carried out as soon
// as it can be. Resign again joins the one under way, or repeats its answer.
//
// ctx may be lead's, or Context, although Resign ends it: the wait goes on then,
// for at most the session timeout and until ctx's Deadline.
func (t *Term) Resign(ctx context.Context) error {
	if !t.run {
		t.left.Store(true)
	}
	if err := t.h.Unlock(ctx); err != nil {
		return fmt.Errorf("election: resign: %w", err)
	}
	return nil
}

// SetInfo changes what observers are shown, for the rest of this term; the next
// one begins with New's info. The Token stays. It costs one write, and one read
// each for this Client, the next in line and every Client that observes.
//
// Nil: it stands. The error names the limit if info is no UTF-8 of at most
// MaxInfo bytes without control characters; it is the *zklock.LostError or zklock.ErrReleased if the term has
// ended; else it wraps ctx's cause, or a server's refusal. After ctx's end the
// change may still take effect, before that of a later SetInfo.
func (t *Term) SetInfo(ctx context.Context, info string) error {
	if err := t.setInfo(ctx, info); err != nil {
		return fmt.Errorf("election: set info %s: %w", t.e.line.Dir, err)
	}
	return nil
}

// setInfo writes until a server has answered. Invariant: what the last call
// wrote stands in the end. Broken by: one call's request waits in the client when
// its ctx ends, the next call's overtakes it. So the next waits for its return.
func (t *Term) setInfo(ctx context.Context, info string) error {
	if err := checkInfo(info); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.Context().Done():
		return context.Cause(t.Context())
	}
	held := t.h.Internal()
	for wait := held.Session.Timeout() / 256; ; wait = min(2*wait, held.Session.Timeout()/8) {
		if !t.stands() {
			<-t.turn
			return context.Cause(t.Context())
		}
		_, reconnected := held.Session.Connection()
		p := session.Start(held.Session, func(c *zk.Conn) (struct{}, error) {
			_, err := c.Set(held.Node, []byte(info), -1)
			return struct{}{}, err
		})
		select {
		case <-p.Done():
		case <-ctx.Done():
			t.yield(p, info)
			return context.Cause(ctx)
		case <-t.Context().Done():
			t.yield(p, info)
			return context.Cause(t.Context())
		}
		_, err := p.Result()
		switch session.OutcomeOf(err) {
		case session.OutcomeDone:
			t.info.Store(&info)
			<-t.turn
			return nil
		case session.OutcomeRefused:
			<-t.turn
			if !errors.Is(err, zk.ErrNoNode) {
				return err
			}
			// Somebody has deleted it, and the term is about to learn of that: it
			// asks a majority first if the watch on the node was lost with a connection.
			select {
			case <-t.Context().Done():
				return context.Cause(t.Context())
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		// Unknown, or not sent: once more does no harm.
		timer := time.NewTimer(session.Jitter(wait))
		select {
		case <-timer.C:
		case <-reconnected:
		case <-ctx.Done():
		case <-t.Context().Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			<-t.turn
			return context.Cause(ctx)
		}
	}
}

// yield lets the next SetInfo go on once the abandoned request has returned. Its
// session ends it at the latest; on a Client that is being closed there is no next.
func (t *Term) yield(p *session.Pending[struct{}], info string) {
	t.e.client.Go(func() {
		<-p.Done()
		if _, err := p.Result(); err == nil {
			t.info.Store(&info)
		}
		<-t.turn
	})
}
