// Package resource is a protected resource for tests: one value, in the memory of
// the test process, written over HTTP by workers that are processes of their own.
// It keeps out nobody who does not carry a stamp by mistake alone: there is no
// authentication, and it listens on 127.0.0.1.
package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
)

// TB is what Serve needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
}

// Store judges every command by fencing.Check, in one atomic step with the write.
type Store struct {
	guarded  bool
	accepted func(fencing.Stamp)
	server   *httptest.Server

	queue queue

	mu    sync.Mutex
	last  fencing.Stamp
	value string

	overrides []Override
}

// Serve serves a new Store until the test ends. accepted is told of every write
// that is accepted, in the order of acceptance. A Store that is not guarded accepts
// them all: it shows what the guard is good for.
func Serve(tb TB, guarded bool, accepted func(fencing.Stamp)) *Store {
	tb.Helper()
	s := &Store{guarded: guarded, accepted: accepted}
	s.server = httptest.NewServer(s)
	tb.Cleanup(func() {
		s.Flow() // the server waits for those who wait
		s.server.Close()
	})
	return s
}

// URL is where Client finds the Store.
func (s *Store) URL() string { return s.server.URL }

// Value returns what is stored, and by whom.
func (s *Store) Value() (string, fencing.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.last
}

// ServeHTTP takes a history.Command and gives a history.Answer.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var c history.Command
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch c.Call {
	case history.Read, history.Raise, history.Write:
	default:
		http.Error(w, fmt.Sprintf("resource: Call %q: must be %s, %s or %s", c.Call, history.Read, history.Raise, history.Write), http.StatusBadRequest)
		return
	}
	// That nobody waits for it any more does not call a command back.
	answer := s.queue.pass(c, s.do)
	// Who does not hear it counts it as unknown.
	_ = json.NewEncoder(w).Encode(answer)
}

func (s *Store) do(c history.Command) history.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := history.Answer{OK: true}
	switch c.Call {
	case history.Read:
		a.Value = s.value
	case history.Raise:
		if c.Stamp.Token.Compare(s.last.Token) > 0 {
			s.last = fencing.Stamp{Token: c.Stamp.Token}
		}
		if s.guarded && s.last.Token != c.Stamp.Token {
			a.OK, a.Refused = false, history.Stale
		}
	case history.Write:
		floor, err := fencing.Check(s.last, c.Stamp)
		if s.guarded && err != nil {
			s.last, a.OK, a.Refused = floor, false, refusal(err)
			break
		}
		s.last, s.value = c.Stamp, c.Value
		s.accepted(c.Stamp)
	}
	a.Last = s.last
	return a
}

func refusal(err error) history.Refusal {
	switch {
	case errors.Is(err, fencing.ErrStale):
		return history.Stale
	case errors.Is(err, fencing.ErrDuplicate):
		return history.Duplicate
	case errors.Is(err, fencing.ErrSuperseded):
		return history.Superseded
	default:
		return history.Zero
	}
}
