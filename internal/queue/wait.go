package queue

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// Events is told about the wait, on the goroutine that waits, and must not
// block. Nil fields are skipped.
type Events struct {
	Enrolled func(child string)
	Waiting  func(predecessor string, ahead int)
	Ignored  func(child string)    // once per place and child
	Admit    func(ahead int) error // its error ends the wait
}

// Await enrols and waits until our node is first and a quorum proof of it has
// been answered. Whether trusted time is left is for the caller to see; to look
// once more, call it again. Errors: ctx's cause, the session's
// *session.LostError, ErrGone, a *ForeignError, Admit's, or a server's refusal.
// Leave must follow each.
func (p *Place) Await(ctx context.Context, on Events) error {
	r := retry{s: p.s}
	g := glance{prove: true}
	for {
		if p.path == "" {
			if err := p.enrol(ctx); err != nil {
				return err
			}
			// The create's own answer is the word of a quorum about our node.
			g = glance{prove: !p.proven}
			p.proven = false
			p.since, _ = p.s.Connection()
			if on.Enrolled != nil {
				on.Enrolled(p.node.Child)
			}
		}
		r.begin()
		first, next, err := p.step(ctx, g, on)
		switch {
		case first:
			return nil
		case err == nil:
			g, r.wait = next, 0
			continue
		case final(err):
			return err
		case errors.Is(err, errUnseen):
			g = glance{prove: true}
		case errors.Is(err, errNotOurs):
			p.forget()
		default:
			g = glance{shared: true}
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}

// refusal is Admit's word.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

func final(err error) bool {
	var foreign *ForeignError
	var refused refusal
	return errors.Is(err, ErrGone) || errors.As(err, &foreign) || errors.As(err, &refused) ||
		session.OutcomeOf(err) == session.OutcomeRefused
}

// step looks once, and if somebody is ahead waits for a reason to look again.
func (p *Place) step(ctx context.Context, g glance, on Events) (first bool, next glance, err error) {
	conn, reconnected := p.s.Connection()
	children, err := p.fly(ctx, conn, g)
	if err != nil {
		return false, next, err
	}
	at, err := p.judge(ctx, children, on)
	if err != nil {
		return false, next, err
	}
	if on.Admit != nil {
		if err := on.Admit(at.ahead); err != nil {
			return false, next, refusal{err}
		}
	}
	switch {
	case at.ahead > 0:
		next, err = p.behind(ctx, at, reconnected, on)
		return false, next, err
	case g.shared:
		// After a reconnect nobody proves before he knows that he is first: a
		// thousand waiters would have the quorum commit a thousand proofs.
		err := p.prove(ctx)
		return err == nil, next, err
	}
	return true, next, nil
}

// behind waits behind one contender.
func (p *Place) behind(ctx context.Context, at standing, reconnected <-chan struct{}, on Events) (next glance, err error) {
	path := p.line.pathOf(at.predecessor)
	w, err := p.s.Watch(ctx, path)
	if err != nil {
		return p.vanished(at.predecessor, err)
	}
	if age, ok := p.ages[at.predecessor]; ok && age != w.Stat().Czxid {
		p.ages[at.predecessor] = w.Stat().Czxid // deleted and made again under the same name
		return glance{prove: true}, nil
	}
	p.gone = ""
	if on.Waiting != nil && p.told != at.predecessor {
		p.told = at.predecessor
		on.Waiting(at.predecessor, at.ahead)
	}
	for {
		select {
		case <-w.Fired():
			if w.Deleted() {
				return glance{prove: true}, nil
			}
			if w, err = p.s.Watch(ctx, path); err != nil {
				return p.vanished(at.predecessor, err)
			}
		case <-p.own.Fired():
			p.ownConn = 0 // a fired watch watches nothing
			if p.own.Deleted() {
				return next, p.missing(ctx)
			}
			conn, _ := p.s.Connection()
			if err := p.arm(ctx, conn); errors.Is(err, zk.ErrNoNode) {
				return next, p.missing(ctx)
			} else if err != nil {
				return next, err
			}
		case <-reconnected:
			return glance{shared: true}, nil
		case <-ctx.Done():
			return next, session.Ended(ctx)
		case <-p.s.Context().Done():
			return next, context.Cause(p.s.Context())
		}
	}
}

// vanished is what follows from an error of the watch on the predecessor.
func (p *Place) vanished(predecessor string, err error) (glance, error) {
	if !errors.Is(err, zk.ErrNoNode) {
		return glance{}, fmt.Errorf("watch %s: %w", predecessor, err)
	}
	if p.gone == predecessor {
		// The list shows it and the read does not, again: do not spin, nor begin to
		// anew after each pause.
		return glance{}, errUnseen
	}
	p.gone = predecessor
	return glance{prove: true}, nil
}
