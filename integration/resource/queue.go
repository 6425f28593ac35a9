package resource

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/zkfence/zkfence/integration/history"
)

// queue keeps commands from the resource and hands them over in an order of the
// test's. Until somebody holds, they pass as they come.
type queue struct {
	mu      sync.Mutex
	holding bool
	held    []*held
	more    chan struct{} // closed at the next arrival; nil if nobody waits
}

// held is a command on its way.
type held struct {
	command history.Command
	do      func(history.Command) history.Answer
	answer  history.Answer
	done    chan struct{}
}

func (h *held) deliver() {
	h.answer = h.do(h.command)
	close(h.done)
}

func (q *queue) pass(c history.Command, do func(history.Command) history.Answer) history.Answer {
	h := &held{command: c, do: do, done: make(chan struct{})}
	q.mu.Lock()
	if !q.holding {
		q.mu.Unlock()
		return do(c)
	}
	q.held = append(q.held, h)
	if q.more != nil {
		close(q.more)
		q.more = nil
	}
	q.mu.Unlock()
	<-h.done
	return h.answer
}

// await calls try, under the lock, until it returns true, anew at every arrival.
func (q *queue) await(ctx context.Context, try func() bool) error {
	for {
		q.mu.Lock()
		if try() {
			q.mu.Unlock()
			return nil
		}
		if q.more == nil {
			q.more = make(chan struct{})
		}
		more := q.more
		q.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("resource: awaited command: %w", context.Cause(ctx))
		}
	}
}

// Hold cuts the Store off from its writers: what they send from now on is on its
// way, also when they have given up waiting for it, and is carried out by Deliver
// and by Flow alone.
func (s *Store) Hold() {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	s.queue.holding = true
}

// Deliver waits for a command on its way that the caller wants, the first to come
// if there are several, carries it out before all others, and returns what its
// sender is told. Its error is that ctx has ended before one came.
func (s *Store) Deliver(ctx context.Context, wanted func(history.Command) bool) (history.Answer, error) {
	q := &s.queue
	var next *held
	err := q.await(ctx, func() bool {
		i := slices.IndexFunc(q.held, func(h *held) bool { return wanted(h.command) })
		if i < 0 {
			return false
		}
		next = q.held[i]
		q.held = slices.Delete(q.held, i, i+1)
		return true
	})
	if err != nil {
		return history.Answer{}, err
	}
	next.deliver()
	return next.answer, nil
}

// OnItsWay waits until n commands or more are on their way at once. Its error is
// that ctx has ended before.
func (s *Store) OnItsWay(ctx context.Context, n int) error {
	return s.queue.await(ctx, func() bool { return len(s.queue.held) >= n })
}

// Flow ends Hold. What is on its way is carried out, in the order of arrival.
func (s *Store) Flow() {
	s.queue.mu.Lock()
	s.queue.holding = false
	late := s.queue.held
	s.queue.held = nil
	s.queue.mu.Unlock()
	for _, h := range late {
		h.deliver()
	}
}
