package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
)

// acquire waits for the lock, over as many sessions as that takes. The place is
// nil if there never was one.
func (a *attempt) acquire() (*queue.Place, error) {
	for {
		a.doing = doing{}
		s, err := a.client.Session(a.ctx)
		if err != nil {
			return nil, err
		}
		a.doing = doing{what: enrolling}
		place := a.line.Join(s)
		err = a.win(place)
		switch {
		case err == nil:
			return place, nil
		case a.ctx.Err() != nil:
			return place, context.Cause(a.ctx)
		case errors.Is(err, session.ErrClosed):
			return place, session.ErrClosed
		case errors.Is(err, queue.ErrGone) && s.Err() == nil:
			return place, ErrEvicted
		case !errors.Is(err, session.ErrLost) && !errors.Is(err, queue.ErrGone):
			return place, foreign(err)
		}
		// The session has ended and taken our node along. The next one is another
		// contender, with another GUID, at the end of the line.
		a.log.Debug("session lost while waiting; queueing again", zap.Error(err))
	}
}

func foreign(err error) error {
	var f *queue.ForeignError
	if errors.As(err, &f) {
		return fmt.Errorf("%w: child %q", ErrForeignRecipe, f.Child)
	}
	return err
}

// win waits on one session until the hold is granted.
func (a *attempt) win(place *queue.Place) error {
	s := place.Session()
	for {
		if err := place.Await(a.ctx, queue.Events{
			Enrolled: a.enrolled,
			Waiting:  a.waiting,
			Ignored:  a.trace.ignored,
			Admit:    a.admit,
		}); err != nil {
			return err
		}
		if granted, err := a.grant(place); granted || err != nil {
			return err
		}
		a.doing = doing{what: mistrusting}
		// First in line on a session that may not be trusted: soon a request is
		// old enough to vouch for it.
		if err := pause(a.ctx, s, s.Timeout()/32); err != nil {
			return err
		}
	}
}

func (a *attempt) enrolled(node string) {
	a.doing = doing{what: looking}
	a.trace.enrolled(node)
}

func (a *attempt) waiting(predecessor string, ahead int) {
	a.doing = doing{what: queueing, predecessor: predecessor, ahead: ahead}
	a.trace.waiting(predecessor, ahead)
}

func (a *attempt) admit(ahead int) error {
	if ahead == 0 {
		a.doing = doing{what: looking}
	}
	a.doing.ahead = ahead
	switch {
	case a.try && ahead > 0:
		return ErrLocked
	case a.cfg.maxQueue > 0 && ahead >= a.cfg.maxQueue:
		return ErrQueueFull
	}
	return nil
}

// grant makes the hold, now that our node is first and a majority has answered
// for it. False without an error: no trusted time is left.
func (a *attempt) grant(place *queue.Place) (bool, error) {
	h, err := newHold(a, place)
	if err != nil {
		return false, err
	}
	// This is the instant that decides between ctx and the grant. What is proven
	// now is granted, and a ctx that ends from here on is too late.
	if a.ctx.Err() != nil {
		return false, context.Cause(a.ctx)
	}
	s := h.session
	claim, ok := s.Claim(place.Path(), func(r session.Reason) { h.lose(reasonOf(r)) })
	if !ok {
		return false, s.Err()
	}
	h.claim = claim
	h.suspicions, _ = s.Suspicion()
	if a.cfg.eager && (h.suspicions%2 == 1 || s.Suspect()) {
		claim.Release()
		return false, s.Err()
	}

	a.mu.Lock()
	early := h.early
	if early == 0 {
		if a.cfg.maxHold > 0 {
			h.limit(a.cfg.maxHold)
		}
		a.hold = h
		a.set(grant)
		a.trace.granted(h.token)
	}
	a.mu.Unlock()

	switch early {
	case 0:
		a.log.Debug("granted", zap.Stringer("token", h.token), zap.String("node", place.Path()))
		return true, nil
	case NodeDeleted:
		claim.Release()
		return false, queue.ErrGone
	}
	claim.Release()
	return false, s.Err()
}

// pause waits for d; the error is why not to go on.
func pause(ctx context.Context, s *session.Session, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-s.Context().Done():
		return context.Cause(s.Context())
	}
}
