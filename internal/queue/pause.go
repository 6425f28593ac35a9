package queue

import (
	"context"
	"time"

	"github.com/zkfence/zkfence/internal/session"
)

const (
	shortestPause = 10 * time.Millisecond
	longestPause  = time.Second
)

// retry paces requests that failed for no definite reason. A reconnect ends a
// pause early; without the timer a refusal that needs no reconnect (a server
// that is starting up) would be waited out for ever.
type retry struct {
	s    *session.Session
	next <-chan struct{}
	wait time.Duration
}

// begin is called before each try, so that a reconnect during the try counts.
func (r *retry) begin() { _, r.next = r.s.Connection() }

// pause returns nil when it is time to try again, else why never.
func (r *retry) pause(ctx context.Context) error {
	r.wait = min(max(2*r.wait, shortestPause), longestPause, r.s.Timeout()/8)
	timer := time.NewTimer(session.Jitter(r.wait))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.next:
	case <-ctx.Done():
	case <-r.s.Context().Done():
	}
	return stopped(ctx, r.s)
}

// stopped is why nothing more should be tried. The caller's own end comes
// first: it was asked for.
func stopped(ctx context.Context, s *session.Session) error {
	if ctx.Err() != nil {
		return session.Ended(ctx)
	}
	if s.Context().Err() != nil {
		return context.Cause(s.Context())
	}
	return nil
}

// again calls try until it says something definite: success, a refusal, or the
// end of ctx or the session. It is for requests that do no harm twice.
func again(ctx context.Context, s *session.Session, try func() error) error {
	r := retry{s: s}
	for {
		r.begin()
		err := try()
		switch session.OutcomeOf(err) {
		case session.OutcomeDone, session.OutcomeRefused:
			return err
		}
		if err := r.pause(ctx); err != nil {
			return err
		}
	}
}
