package history

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Log collects the Events of several sources. The zero Log is empty. It is safe
// for concurrent use.
type Log struct {
	mu     sync.Mutex
	events []Event
	more   chan struct{} // closed at the next Add; nil if nobody waits
}

// Add appends an event.
func (l *Log) Add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
}

// Events returns a copy of what was added so far, in the order of Add.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// Len returns how many events were added so far.
func (l *Log) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// Await returns the first event at index from or later that is what the caller
// wants, and waits for it until ctx ends.
func (l *Log) Await(ctx context.Context, from int, wanted func(Event) bool) (Event, error) {
	for {
		l.mu.Lock()
		for ; from < len(l.events); from++ {
			if wanted(l.events[from]) {
				e := l.events[from]
				l.mu.Unlock()
				return e, nil
			}
		}
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more := l.more
		l.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return Event{}, fmt.Errorf("history: awaited event: %w", context.Cause(ctx))
		}
	}
}
