package queue

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// Follow tells who is first in line, at once and at each change, over as many
// sessions as that takes, until ctx ends. tell may be told the same twice, and is
// told nothing while no server can be reached. The error is why it had to stop:
// ctx's cause, session.ErrClosed, a *ForeignError, or a refusal.
//
// A change costs a list and a read. While somebody is first his node alone is
// watched, the directory only while nobody is: a watch on it would wake all
// followers whenever anybody queues up. Who comes first is told some milliseconds
// late (longestWay): the requests of all who follow would otherwise reach the
// servers together with the winner's, and ahead of its proof.
func (l Line) Follow(ctx context.Context, c *session.Client, tell func(First)) error {
	for {
		s, err := c.Session(ctx)
		if err != nil {
			return err
		}
		err = l.followOn(ctx, s, tell)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, session.ErrClosed):
			return session.ErrClosed
		case !errors.Is(err, session.ErrLost):
			return err
		}
	}
}

// followOn follows on one session; the error is never nil.
func (l Line) followOn(ctx context.Context, s *session.Session, tell func(First)) error {
	r := retry{s: s}
	f := follower{Line: l, s: s, tell: tell}
	for {
		r.begin()
		err := f.look(ctx, r.next)
		var foreign *ForeignError
		switch {
		case err == nil:
			r.wait = 0
			continue
		case errors.As(err, &foreign), session.OutcomeOf(err) == session.OutcomeRefused:
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}

type follower struct {
	Line
	s    *session.Session
	tell func(First)
	gone string // whom the last list showed and a read did not
}

// look reads who is first, tells it, and returns nil when there is a reason to
// look again: a change, or a reconnect, on which every watch is lost.
func (f *follower) look(ctx context.Context, reconnected <-chan struct{}) error {
	children, err := f.s.Children(ctx, f.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		w, err := f.s.WatchBirth(ctx, f.Dir)
		if err != nil || w == nil {
			return err
		}
		f.tell(First{})
		return f.wait(ctx, w, reconnected)
	}
	if err != nil {
		return err
	}
	child, err := f.earliest(ctx, f.s, children)
	if err != nil {
		return err
	}
	if child == "" {
		return f.nobody(ctx, reconnected)
	}
	for {
		w, err := f.s.Watch(ctx, f.pathOf(child))
		if errors.Is(err, zk.ErrNoNode) {
			if f.gone == child {
				// The server that answers lags, or the node comes and goes: do not spin, nor
				// begin to anew after each pause.
				return errUnseen
			}
			f.gone = child
			return nil
		}
		if err != nil {
			return err
		}
		f.gone = ""
		f.tell(First{Child: child, Czxid: w.Stat().Czxid, Data: string(w.Data())})
		if err := f.wait(ctx, w, reconnected); err != nil {
			return err
		}
		select {
		case <-w.Fired():
			if !w.Deleted() {
				continue // only what it says has changed
			}
			return f.giveWay(ctx)
		default:
		}
		return nil
	}
}

// longestWay bounds giveWay: several times what a takeover takes, and too short for
// anybody to notice.
const longestWay = 20 * time.Millisecond

// giveWay lets the winner ask first.
func (f *follower) giveWay(ctx context.Context) error {
	timer := time.NewTimer(session.Jitter(min(f.s.Timeout()/512, longestWay)))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-f.s.Context().Done():
	}
	return stopped(ctx, f.s)
}

// nobody waits for somebody to come into an empty directory.
func (f *follower) nobody(ctx context.Context, reconnected <-chan struct{}) error {
	w, err := f.s.WatchChildren(ctx, f.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range w.Children() {
		if Parse(child).Kind != Stranger {
			// Came since the list, which says what follows from it. The watch that is
			// left behind fires once more, with nobody waiting.
			return nil
		}
	}
	f.tell(First{})
	return f.wait(ctx, w, reconnected)
}

func (f *follower) wait(ctx context.Context, w *session.Watch, reconnected <-chan struct{}) error {
	select {
	case <-w.Fired():
		return nil
	case <-reconnected:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.s.Context().Done():
		return context.Cause(f.s.Context())
	}
}
