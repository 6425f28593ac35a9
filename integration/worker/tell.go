//go:build linux

package worker

import (
	"encoding/json"
	"io"
	"os"
	"sync"

	"github.com/zkfence/zkfence/integration/history"
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

func (t *teller) tell(e history.Event) {
	e.Worker = t.name
	if e.At == 0 {
		e.At = Now()
	}
	t.print(line{Event: &e})
}
