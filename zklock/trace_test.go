package zklock

import (
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

func TestHooksRunInOrderOneAtATime(t *testing.T) {
	var (
		got     []int
		running sync.Mutex
		all     = make(chan struct{})
	)
	hooks := &Trace{Waiting: func(_ Attempt, _ string, ahead int) {
		require.True(t, running.TryLock())
		defer running.Unlock()
		if got = append(got, ahead); len(got) == 1000 {
			close(all)
		}
	}}
	tr := &tracer{hooks: hooks}
	for i := range 1000 {
		tr.waiting("x", i)
	}
	<-all
	for i, n := range got {
		require.Equal(t, i, n)
	}
}

func TestABlockedHookDelaysOnlyItsOwnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var first, second []int
		a := &tracer{hooks: &Trace{Waiting: func(_ Attempt, _ string, n int) { <-release; first = append(first, n) }}}
		b := &tracer{hooks: &Trace{Waiting: func(_ Attempt, _ string, n int) { second = append(second, n) }}}
		for i := range 3 {
			a.waiting("", i)
			b.waiting("", i)
		}
		synctest.Wait()
		require.Empty(t, first)
		require.Equal(t, []int{0, 1, 2}, second)
		close(release)
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2}, first)
	})
}

func TestNilTracersAndNilHooksAreSilent(t *testing.T) {
	for _, tr := range []*tracer{nil, {hooks: &Trace{}}} {
		tr.state(Transition{})
		tr.enrolled("")
		tr.waiting("", 0)
		tr.ignored("")
		tr.granted((&Hold{}).token)
		tr.failed(nil)
		tr.lost(nil)
		tr.returned(nil)
		tr.released(true)
		if tr != nil {
			require.False(t, tr.running)
		}
	}
}

// A failed assertion in a hook ended the goroutine, and silently all hooks of
// the attempt with it.
func TestAHookThatEndsItsGoroutineEndsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		tr := &tracer{hooks: &Trace{Waiting: func(_ Attempt, _ string, n int) {
			if got = append(got, n); n%2 == 0 {
				runtime.Goexit()
			}
		}}}
		for i := range 5 {
			tr.waiting("", i)
		}
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4}, got)
		tr.waiting("", 5) // and those that come when all is told
		synctest.Wait()
		require.Equal(t, []int{0, 1, 2, 3, 4, 5}, got)
	})
}
