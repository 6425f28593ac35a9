package zktest

import "slices"

// follower is a caller's function that is told everything.
type follower struct {
	sel selector
	fn  func(Entry)
}

// Follow calls fn for everything that happens to the target, in order and one
// at a time: connections, requests, replies, events, sessions, faults that meet
// a request, and what the test itself does, if it was done to this very target
// or to everybody. Nothing is forgotten, unlike by Requests and Trace.
// stop ends the calls, but does not wait for one under way.
//
// fn runs with no lock held on whichever goroutine comes along, for a moment
// after the event: it must neither block nor end its goroutine. So it must not
// change anything on a server of an ensemble, by Delete or Expire say: the
// goroutine that waits for fn may be the one that would carry it out. Without a
// follower nothing is spent on them.
//
//	s.Follow(zktest.LogTo(slog.New(slog.NewTextHandler(t.Output(), nil))))
func (t *Target) Follow(fn func(Entry)) (stop func()) {
	if fn == nil {
		panic("zktest: Follow: the function is nil")
	}
	f, w := t.f, &follower{sel: t.sel, fn: fn}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers = append(f.followers, w)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		// A copy, for tell walks over what it has found.
		f.followers = slices.DeleteFunc(slices.Clone(f.followers), func(o *follower) bool { return o == w })
	}
}

// follows says whether an entry concerns a follower. What was done to everybody
// concerns everyone.
func (w *follower) follows(e Entry) bool {
	return e.Kind == Acted && e.Host == "" && e.Session == 0 || w.sel.matches(e.Host, e.Session)
}

// note has the followers told of e. f.mu is held; release tells.
func (f *Faults) note(e Entry) {
	if len(f.followers) > 0 {
		f.untold = append(f.untold, e)
	}
}

// release unlocks f.mu and tells the followers what was noted. While somebody
// else does that already it leaves it to them: so everything is told in order,
// by one goroutine at a time, and none waits for another.
func (f *Faults) release() {
	if f.telling || len(f.untold) == 0 {
		f.mu.Unlock()
		return
	}
	f.telling = true
	for len(f.untold) > 0 {
		entries, followers := f.untold, f.followers
		f.untold = nil
		f.mu.Unlock()
		for _, e := range entries {
			for _, w := range followers {
				if w.follows(e) {
					w.fn(e)
				}
			}
		}
		f.mu.Lock()
	}
	f.telling = false
	f.mu.Unlock()
}
