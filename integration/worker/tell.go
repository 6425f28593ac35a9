//go:build linux

package worker

import (
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/zklock"
)

// teller writes the lines that a parent reads, each of them whole. It is safe for
// concurrent use.
type teller struct {
	name string

	mu  sync.Mutex
	enc *json.Encoder
}

func newTeller(name string, out io.Writer) *teller {
	return &teller{name: name, enc: json.NewEncoder(out)}
}

func (t *teller) print(l line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.enc.Encode(l); err != nil {
		os.Exit(1) // nobody listens any more
	}
}

func (t *teller) done(d Done) { t.print(line{Done: &d}) }

// tell tells what is known since just now, unless the event says when.
func (t *teller) tell(e history.Event) {
	e.Worker = t.name
	if e.At == 0 {
		e.At = Now()
	}
	t.print(line{Event: &e})
}

// place tells of the attempts at one path.
type place struct {
	*teller
	path string
}

func (p place) of(attempt uint64, e history.Event) {
	e.Path, e.Attempt = p.path, attempt
	p.tell(e)
}

// trace tells what only the lock can know. Attempts are counted from 1, by those who
// call Lock too.
func (p place) trace() *zklock.Trace {
	return &zklock.Trace{
		Enrolled: func(a zklock.Attempt, node string) {
			p.of(a.ID, history.Event{Kind: history.Enrolled, Node: node})
		},
		Lost: func(a zklock.Attempt, err *zklock.LostError) {
			p.of(a.ID, history.Event{Kind: history.Lost, Reason: err.Error()})
		},
		Released: func(a zklock.Attempt, _ bool) {
			p.of(a.ID, history.Event{Kind: history.Released})
		},
	}
}
