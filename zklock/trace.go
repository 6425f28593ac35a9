package zklock

import (
	"sync"

	"github.com/zkfence/zkfence/fencing"
)

// Trace is a set of hooks that are told what becomes of attempts. Any of them
// may be nil.
//
// The hooks of one attempt run in order, one at a time, on a goroutine of its
// own and without any lock held. What they are told has already happened: states
// have changed and contexts have ended before. A hook that blocks delays the
// later hooks of its attempt and nothing else, neither a loss nor Unlock nor
// zkconn.Client.Close, which wait for no hook. Hooks of different attempts run
// concurrently.
//
// A hook that ends its goroutine with runtime.Goexit, as testing's FailNow does,
// ends itself alone; the later hooks run on another one. A panic in a hook
// crashes the program: nobody is there to recover it.
type Trace struct {
	// State is called at each change of state, before the hook that says more.
	State func(Attempt, Transition)
	// Enrolled: the attempt has a node, named without the lock's path. It is
	// called again after the session was lost while waiting.
	Enrolled func(a Attempt, node string)
	// Waiting: the attempt waits for predecessor to go, the last of ahead
	// contenders in front. It is called again when that changes.
	Waiting func(a Attempt, predecessor string, ahead int)
	// Ignored: child is in the lock's directory and no contender by its name.
	// Once per node of ours and child.
	Ignored func(a Attempt, child string)
	// Granted: the lock is held with this token.
	Granted func(a Attempt, token fencing.Token)
	// Failed: the attempt ended without a grant.
	Failed func(a Attempt, err error)
	// Lost: the hold is over.
	Lost func(a Attempt, err *LostError)
	// Returned: the function that was given to Do, or to a recipe built on it,
	// has returned err.
	Returned func(a Attempt, err error)
	// Released: nothing of the attempt will be on the ensemble. If proven is
	// false its node goes with the session, which has ended.
	Released func(a Attempt, proven bool)
}

// Attempt says which call of which Mutex a hook is about.
type Attempt struct {
	Path string // full path of the lock
	ID   uint64 // counts the attempts of one Mutex from 1
}

// Transition is one change of state.
type Transition struct {
	From, To State
	Event    string // for reading; its spelling may change
}

// tracer queues one attempt's hooks. Its goroutine exists while there is
// something to say. Nobody waits for it: it runs users' code, which may be
// waiting for us.
type tracer struct {
	hooks *Trace
	at    Attempt

	mu      sync.Mutex
	todo    []func()
	running bool
}

// tell queues one call. A nil tracer is silent.
func (t *tracer) tell(hook func()) {
	t.mu.Lock()
	t.todo = append(t.todo, hook)
	start := !t.running
	t.running = true
	t.mu.Unlock()
	if start {
		go t.run()
	}
}

func (t *tracer) run() {
	over := false
	defer func() {
		// A hook has ended the goroutine, as require's FailNow does, and the hooks
		// after it are still owed: a test that fails in one must not wait for ever
		// for another. After a panic this changes nothing: the program ends.
		if !over {
			go t.run()
		}
	}()
	for {
		hook := t.take()
		if hook == nil {
			over = true
			return
		}
		hook()
	}
}

// take returns the next hook; nil if there is none, and then run must end.
func (t *tracer) take() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.todo) == 0 {
		t.todo, t.running = nil, false
		return nil
	}
	hook := t.todo[0]
	t.todo[0] = nil // what it refers to is not kept until the last hook has run
	t.todo = t.todo[1:]
	return hook
}

func (t *tracer) state(tr Transition) {
	if t != nil && t.hooks.State != nil {
		t.tell(func() { t.hooks.State(t.at, tr) })
	}
}

func (t *tracer) enrolled(node string) {
	if t != nil && t.hooks.Enrolled != nil {
		t.tell(func() { t.hooks.Enrolled(t.at, node) })
	}
}

func (t *tracer) waiting(predecessor string, ahead int) {
	if t != nil && t.hooks.Waiting != nil {
		t.tell(func() { t.hooks.Waiting(t.at, predecessor, ahead) })
	}
}

func (t *tracer) ignored(child string) {
	if t != nil && t.hooks.Ignored != nil {
		t.tell(func() { t.hooks.Ignored(t.at, child) })
	}
}

func (t *tracer) granted(token fencing.Token) {
	if t != nil && t.hooks.Granted != nil {
		t.tell(func() { t.hooks.Granted(t.at, token) })
	}
}

func (t *tracer) failed(err error) {
	if t != nil && t.hooks.Failed != nil {
		t.tell(func() { t.hooks.Failed(t.at, err) })
	}
}

func (t *tracer) lost(err *LostError) {
	if t != nil && t.hooks.Lost != nil {
		t.tell(func() { t.hooks.Lost(t.at, err) })
	}
}

func (t *tracer) returned(err error) {
	if t != nil && t.hooks.Returned != nil {
		t.tell(func() { t.hooks.Returned(t.at, err) })
	}
}

func (t *tracer) released(proven bool) {
	if t != nil && t.hooks.Released != nil {
		t.tell(func() { t.hooks.Released(t.at, proven) })
	}
}
