package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Escape sequences, as every terminal of the last decades understands them.
const (
	enterScreen = "\x1b[?1049h\x1b[2J\x1b[?7l" // the alternate one, which does not wrap
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	hideCursor  = "\x1b[?25l"
	showCursor  = "\x1b[?25h"
	saveCursor  = "\x1b7"
	backCursor  = "\x1b8"
	eraseLine   = "\x1b[2K"
	toLine      = "\x1b[%d;1H"
)

// screen is the live table: it draws everything ten times a second, above a line
// in which somebody may be typing.
type screen struct {
	out      io.Writer
	tape     *tape
	size     size
	keys     bool
	paint    paint
	picture  func(time.Time) picture
	title    atomic.Value  // string
	answered chan struct{} // a line was typed, and is done with
}

func newScreen(out io.Writer, size size, colours, keys bool) *screen {
	return &screen{out: out, tape: &tape{}, size: size, keys: keys, paint: paint(colours), answered: make(chan struct{}, 1)}
}

// run draws until stop is called, which puts the terminal back as it was and
// prints the timeline on it.
func (s *screen) run() (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	// An error says that nobody looks.
	_, _ = io.WriteString(s.out, enterScreen+s.prompt())
	go func() {
		defer close(ended)
		every := time.NewTicker(100 * time.Millisecond)
		defer every.Stop()
		for {
			select {
			case now := <-every.C:
				_, _ = io.WriteString(s.out, s.frame(now))
			case <-s.answered:
				_, _ = io.WriteString(s.out, s.prompt())
			case <-end:
				return
			}
		}
	}()
	return func() {
		close(end)
		<-ended
		_, _ = io.WriteString(s.out, leaveScreen)
		s.tape.playTo(s.out)
	}
}

// prompt is the empty line for what is typed.
func (s *screen) prompt() string {
	if !s.keys {
		return hideCursor
	}
	return fmt.Sprintf(toLine, s.size.lines-1) + eraseLine + "> "
}

// answer makes room for the next line to be typed.
func (s *screen) answer() {
	select {
	case s.answered <- struct{}{}:
	default:
	}
}

// frame is everything above the prompt.
func (s *screen) frame(now time.Time) string {
	lines := s.table(now)
	help := []string{"", ""}
	if s.keys {
		help = []string{s.paint.dim(helpKeys), s.paint.dim(helpAlone)}
	}
	room := max(s.size.lines-4-len(lines), 1)
	events := s.tape.tail(room)
	for _, event := range events {
		if text := []rune(event); len(text) > s.size.columns {
			event = string(text[:s.size.columns-1]) + "…"
		}
		lines = append(lines, event)
	}
	for range room - len(events) {
		lines = append(lines, "")
	}
	lines = append(lines, help...)

	var b strings.Builder
	b.WriteString(saveCursor + hideCursor)
	for i, line := range lines {
		fmt.Fprintf(&b, toLine, i+1)
		b.WriteString(eraseLine + line)
	}
	b.WriteString(backCursor)
	if s.keys {
		b.WriteString(showCursor)
	}
	return b.String()
}

// tape keeps a timeline's lines, until there is a place to print them.
type tape struct {
	mu    sync.Mutex
	lines []string
	out   io.Writer // nil: still kept
}

// Write takes one line, as a Timeline writes them.
func (t *tape) Write(line []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.out != nil {
		return t.out.Write(line)
	}
	t.lines = append(t.lines, strings.TrimRight(string(line), "\n"))
	return len(line), nil
}

// tail is the first line, which has the titles, and the newest others.
func (t *tape) tail(n int) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) <= n {
		return append([]string(nil), t.lines...)
	}
	return append([]string{t.lines[0]}, t.lines[len(t.lines)-n+1:]...)
}

func (t *tape) playTo(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.out = out
	for _, line := range t.lines {
		_, _ = fmt.Fprintln(out, line)
	}
}
