// Package ledger is for tests that kill writers: a file to which all of them append a
// line when they begin an attempt and when it is answered. Its lines are the one
// clock of the history, and none is lost with a process.
package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

// answers are how an answer is written down.
var answers = map[string]error{
	"ok": nil, "stale": fencing.ErrStale, "duplicate": fencing.ErrDuplicate,
	"superseded": fencing.ErrSuperseded, "unknown": fencing.ErrUnknownOutcome,
}

// Book is one writer's.
type Book struct {
	file   *os.File
	writer string
	tries  int
}

// Open opens a ledger that exists, for a writer with a name of its own.
func Open(path, writer string) (*Book, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	return &Book{file: f, writer: writer}, err
}

// width of a line, which divides a page.
const width = 64

// Append adds a line, blanks at its end, to a file that has only such: all of it or
// nothing, whenever the process is killed. A kernel looks for a fatal signal between two
// pages of one write; a line that lay across them was cut in the middle, now and then,
// and the next writer's stood behind it.
func Append(f *os.File, text string) error {
	if len(text) >= width {
		return fmt.Errorf("%s: line %q has %d bytes, want less than %d", f.Name(), text, len(text), width)
	}
	_, err := fmt.Fprintf(f, "%-*s\n", width-1, text)
	return err
}

// Attempt writes down that do begins, by its Stamp, and what it has answered. An
// answer that a guard does not give is returned.
func (b *Book) Attempt(stamp string, do func() error) error {
	b.tries++
	id := fmt.Sprintf("%s/%d", b.writer, b.tries)
	if err := Append(b.file, "begin "+id+" "+stamp); err != nil {
		return err
	}
	err := do()
	for word, is := range answers {
		if is == nil && err == nil || is != nil && errors.Is(err, is) {
			return Append(b.file, "end "+id+" "+word)
		}
	}
	return err
}

// Read returns the history: what has a Seq is a command, and its Stamp its entry; what
// has none is a Raise. Attempts without an answer have none.
func Read(path string) ([]fencetest.Attempt, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var attempts []fencetest.Attempt
	at := make(map[string]int)
	lines := bufio.NewScanner(f)
	for clock := int64(1); lines.Scan(); clock++ {
		w := strings.Fields(lines.Text())
		if len(w) != 3 {
			return nil, fmt.Errorf("%s: line %q", path, lines.Text())
		}
		switch w[0] {
		case "begin":
			s, err := fencing.ParseStamp(w[2])
			if err != nil {
				return nil, err
			}
			a := fencetest.Attempt{Stamp: s, Began: clock}
			if s.Seq > 0 {
				a.Entry = w[2]
			}
			at[w[1]] = len(attempts)
			attempts = append(attempts, a)
		case "end":
			is, known := answers[w[2]]
			if !known {
				return nil, fmt.Errorf("%s: line %q", path, lines.Text())
			}
			a := &attempts[at[w[1]]]
			a.Ended, a.Err = clock, is
		}
	}
	return attempts, lines.Err()
}
