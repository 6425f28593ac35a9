package queue

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// RefusedError is a server's definite no to what a departure needs. Its reason
// can be taken away, so the departure goes on; but who waits for it is to know
// that no time alone will end the wait before the session does.
type RefusedError struct {
	Verb string // "delete" or "list"
	Node string // full path of what was to be deleted or listed
	Err  error
}

func (e *RefusedError) Error() string {
	what, permission := "it", "DELETE"
	if e.Verb == "list" {
		what, permission = "a node in it that may be ours", "READ"
	}
	advice := ""
	if errors.Is(e.Err, zk.ErrNoAuth) {
		advice = fmt.Sprintf("; give this client %s on the directory", permission)
	}
	return fmt.Sprintf("the server refuses to %s %s (%s stays while the session lives%s): %v", e.Verb, e.Node, what, advice, e.Err)
}

// Unwrap is the server's answer.
func (e *RefusedError) Unwrap() error { return e.Err }

// refusals keeps the newest refusal of one departure.
type refusals struct {
	first chan struct{} // closed at the first

	mu     sync.Mutex
	newest *RefusedError
}

func newRefusals() *refusals { return &refusals{first: make(chan struct{})} }

func (r *refusals) add(err *RefusedError) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == nil {
		close(r.first)
	}
	r.newest = err
}

func (r *refusals) err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == nil {
		return nil
	}
	return r.newest
}
