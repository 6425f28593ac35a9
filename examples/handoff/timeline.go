package main

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// timeline prints what happened: when, who, with which token, in which state.
type timeline struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer
}

func newTimeline(out io.Writer) *timeline {
	t := &timeline{began: time.Now(), out: out}
	t.row("time", "who", "token", "state", "event")
	return t
}

// line prints one event. token and state may be empty.
func (t *timeline) line(who, token, state, event string) {
	t.row(fmt.Sprintf("%.3fs", time.Since(t.began).Seconds()), who, token, state, event)
}

func (t *timeline) row(when, who, token, state, event string) {
	if token == "" {
		token = "-"
	}
	if state == "" {
		state = "-"
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, "%9s  %-6s  %-12s  %-9s  %s\n", when, who, token, state, event)
}
