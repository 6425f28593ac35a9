package fencetest

import (
	"sync"
	"sync/atomic"
	"time"
)

// manyWriters has 64 owners write at once through four guards, each with failures,
// retries and pauses of its own (case 25).
func manyWriters(s *scene) {
	const owners, commands = 64, 3
	guards := []Guard{s.guard(), s.guard(), s.guard(), s.guard()}
	resource := s.resource()
	var (
		clock    atomic.Int64
		mu       sync.Mutex
		attempts []Attempt
		wg       sync.WaitGroup
	)
	order := s.rand(1).Perm(owners)
	for i := range owners {
		wg.Go(func() {
			r := s.rand(uint64(100 + i))
			g := guards[i%len(guards)]
			pause := func() time.Duration { return time.Duration(r.Int64N(int64(time.Millisecond))) }
			send := func(c Command) error {
				ctx, cancel := s.bounded()
				defer cancel()
				Pause(slowly(ctx, func() time.Duration { return 3 * pause() }))
				a := Attempt{Entry: c.Entry, Stamp: c.Stamp, Fail: c.Fail, Began: clock.Add(1)}
				_, a.Err = g.Do(slowly(ctx, pause), c)
				a.Ended = clock.Add(1)
				mu.Lock()
				defer mu.Unlock()
				attempts = append(attempts, a)
				return a.Err
			}
			for seq := range uint64(commands) {
				c := command(resource, stamp(uint64(100+order[i]), seq+1))
				if failing(s.subject) && r.IntN(3) == 0 {
					f := c
					f.Fail = true
					_ = send(f) // judged with all others
				}
				for range tries {
					if err := send(c); err == nil || isRefusal(err) {
						break
					}
				}
				if r.IntN(3) == 0 {
					_ = send(c) // a repetition
				}
			}
		})
	}
	wg.Wait()

	entries, last := s.read(guards[0], resource)
	s.judge(resource, entries, attempts)
	newest := stamp(100+owners-1, commands)
	if last != newest {
		s.Errorf("remembers %s, want %s: the newest owner is never refused", last, newest)
	}
	if len(entries) == 0 || entries[len(entries)-1] != newest.String() {
		s.Errorf("the last of %q is not the newest owner's %s", entries, newest)
	}
}
