package fencetest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// stopped is a command that waits in its body, at its nth call of Pause.
type stopped struct {
	reached chan struct{} // closed once it is there
	resume  func()
	done    chan struct{} // closed with the answer
	attempt Attempt
	outcome string
}

// stop sends c and returns once it has stopped in its body, or was answered.
func (s *scene) stop(g Guard, c Command, nth int) *stopped {
	s.Helper()
	st := &stopped{reached: make(chan struct{}), done: make(chan struct{})}
	resume := make(chan struct{})
	st.resume = sync.OnceFunc(func() { close(resume) })
	ctx, cancel := s.bounded()
	s.Cleanup(cancel)
	calls := 0
	ctx = withPause(ctx, func() {
		if calls++; calls != nth {
			return
		}
		close(st.reached)
		select {
		case <-resume:
		case <-ctx.Done():
		}
	})
	// The property waits for it, on every way out.
	go func() {
		defer close(st.done)
		outcome, err := g.Do(ctx, c)
		st.outcome, st.attempt = outcome, Attempt{Entry: c.Entry, Stamp: c.Stamp, Fail: c.Fail, Err: err, Began: 1, Ended: 1}
	}()
	s.Cleanup(func() { st.resume(); <-st.done })
	select {
	case <-st.reached:
	case <-st.done:
		s.Logf("fencetest: %s was not stopped: its body calls Pause less than %d times with the ctx of Do", c.Stamp, nth)
	}
	return st
}

// while runs f and returns when it has ended or has had its grace; the returned
// channel is closed when it has ended.
func (s *scene) while(f func()) <-chan struct{} {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	s.Cleanup(func() { <-done })
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	return done
}

// The guard is asked, its owner is paused, and the write comes when another owner
// has written (case 25).
func nothingBetween(s *scene) {
	for nth := 1; nth <= 2; nth++ {
		a, b := s.guard(), s.guard()
		resource := s.resource()
		old := s.stop(a, command(resource, stamp(10, 1)), nth)
		newer := command(resource, stamp(20, 1))
		var second Attempt
		answered := s.while(func() {
			_, err := s.do(b, newer)
			second = Attempt{Entry: newer.Entry, Stamp: newer.Stamp, Err: err, Began: 1, Ended: 2}
		})
		old.resume()
		s.wait("the stopped command", old.done)
		s.wait("the command that came meanwhile", answered)

		late := command(resource, stamp(10, 2))
		_, err := s.do(a, late)
		entries, last := s.read(a, resource)
		attempts := []Attempt{old.attempt, second, {Entry: late.Entry, Stamp: late.Stamp, Err: err, Began: 3, Ended: 4}}
		s.judge(resource, entries, attempts)
		if second.Err != nil {
			s.Errorf("the newest owner was answered with %v", second.Err)
		}
		if last != newer.Stamp {
			s.Errorf("remembers %s, want %s", last, newer.Stamp)
		}
	}
}

// A new owner raises the floor, then reads: what the old one has under way is then
// either in what it reads, or refused.
func raiseSettles(s *scene) {
	for nth := 1; nth <= 2; nth++ {
		a, b := s.guard(), s.guard()
		resource := s.resource()
		old := s.stop(a, command(resource, stamp(10, 1)), nth)
		var seen []string
		var err error
		raised := s.while(func() {
			if err = s.raise(b, resource, token(20)); err == nil {
				ctx, cancel := s.bounded()
				defer cancel()
				seen, _, err = b.Read(ctx, resource)
			}
		})
		old.resume()
		s.wait("the stopped command", old.done)
		s.wait("Raise", raised)
		if err != nil {
			s.Errorf("Raise, or the read after it: %v", err)
			continue
		}
		entries, last := s.read(a, resource)
		if !slices.Equal(entries, seen) {
			s.Errorf("after Raise it had %q, and later %q", seen, entries)
		}
		if last != stamp(20, 0) {
			s.Errorf("remembers %s, want %s", last, stamp(20, 0))
		}
		s.judge(resource, entries, []Attempt{old.attempt, {Stamp: stamp(20, 0), Began: 1, Ended: 2}})
	}
}

func (s *scene) judge(resource string, entries []string, attempts []Attempt) {
	s.Helper()
	if err := Judge(entries, attempts); err != nil {
		s.Errorf("resource %q with %q: %v", resource, entries, err)
		for _, a := range attempts {
			s.Logf("%s %q fail=%t, from %d to %d: %v", a.Stamp, a.Entry, a.Fail, a.Began, a.Ended, a.Err)
		}
	}
}

// slowly pauses bodies for a while of its own each time.
func slowly(ctx context.Context, pause func() time.Duration) context.Context {
	return withPause(ctx, func() {
		t := time.NewTimer(pause())
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
		}
	})
}
