package cast

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Timeline prints what happened: when, who, with which token, in which state.
type Timeline struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer
}

// NewTimeline returns a Timeline that begins now, with a line of titles.
func NewTimeline(out io.Writer) *Timeline {
	t := &Timeline{began: time.Now(), out: out}
	t.row("time", "who", "token", "state", "event")
	return t
}

// Line prints one event. token and state may be empty.
func (t *Timeline) Line(who, token, state, event string) {
	t.row(fmt.Sprintf("%.3fs", time.Since(t.began).Seconds()), who, token, state, event)
}

func (t *Timeline) row(when, who, token, state, event string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintln(t.out, Row(when, who, token, state, event))
}

// Row is one line of a Timeline.
func Row(when, who, token, state, event string) string {
	if token == "" {
		token = "-"
	}
	if state == "" {
		state = "-"
	}
	return fmt.Sprintf("%9s  %-6s  %-12s  %-9s  %s", when, who, token, state, event)
}
