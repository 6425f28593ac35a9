package bubble

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// grace is the virtual time that a test has to end once the watchdog has closed
// its network.
const grace = 10 * time.Minute

// watchdog bounds the virtual time of a bubble.
type watchdog struct {
	b     *B
	limit time.Duration

	mu    sync.Mutex
	timer *time.Timer
	done  bool
}

func (b *B) watch(limit time.Duration) *watchdog {
	w := &watchdog{b: b, limit: limit}
	w.timer = time.AfterFunc(limit, w.bark)
	return w
}

func (w *watchdog) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done = true
	w.timer.Stop()
}

// bark fails the test and tries to set it free.
func (w *watchdog) bark() {
	if !w.next(grace, w.bite) {
		return
	}
	w.b.T.Errorf("bubble: not done after %s of virtual time\n%s", w.limit, stacks())
	w.b.Net.Close()
}

// bite ends the process: nothing less ends a goroutine that does not want to.
func (w *watchdog) bite() {
	if w.next(time.Hour, w.bite) {
		panic(fmt.Sprintf("bubble: test %s not done after %s of virtual time, and %s more without a network\n%s\n%s",
			w.b.T.Name(), w.limit, grace, w.b.report(traceTail), stacks()))
	}
}

// next arms the timer again, unless the watchdog was stopped.
func (w *watchdog) next(d time.Duration, f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.timer = time.AfterFunc(d, f)
	}
	return !w.done
}

// watchReal bounds the real time of a bubble. It is called outside of it.
func watchReal(name string, c config) (stop func()) {
	t := time.AfterFunc(c.real, func() {
		// The server is not asked for its trace: whoever spins may hold its mutex.
		panic(fmt.Sprintf("bubble: test %s not done after %s of real time, seed %d: %s\n"+
			"The clock stands while a goroutine runs, waits for a mutex or dials for real: does a client lack b.Dialer?\n%s",
			name, c.real, c.seed, again(name, c.seed), stacks()))
	})
	return func() { t.Stop() }
}

func stacks() string {
	buf := make([]byte, 1<<20)
	return string(buf[:runtime.Stack(buf, true)])
}
