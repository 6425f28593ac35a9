package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
)

// ledger is what a service downstream of the leader does: it keeps the highest
// Stamp that it has seen beside its data, and asks fencing.Check in the same step
// in which it writes.
//
//	POST  raises the floor to a new leader's token
//	PUT   writes a command down, if its Stamp may act
//
// It also remembers every decision, so that afterwards anybody can judge it.
type ledger struct {
	began time.Time
	check func(last, next fencing.Stamp) (floor fencing.Stamp, err error) // fencing.Check
	told  func(decision)                                                  // of every decision; nil: nobody

	mu      sync.Mutex
	last    fencing.Stamp
	history []decision
}

// decision is what became of one command, or of one raise of the floor.
type decision struct {
	At     time.Duration // since the ledger began
	From   string
	Stamp  fencing.Stamp
	Known  fencing.Stamp // the highest that the ledger knew before
	Raise  bool
	Reason error // nil: accepted
}

func newLedger() *ledger { return &ledger{began: time.Now(), check: fencing.Check} }

func (l *ledger) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ledger", l.raise)
	mux.HandleFunc("PUT /ledger", l.put)
	return mux
}

// decide is the whole rule, as one step: judge, write, remember.
func (l *ledger) decide(from string, s fencing.Stamp, raise bool) (d decision, last fencing.Stamp) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d = decision{At: time.Since(l.began), From: from, Stamp: s, Known: l.last, Raise: raise}
	l.last, d.Reason = l.check(l.last, s) // the floor rises on sight
	if raise && errors.Is(d.Reason, fencing.ErrZeroSeq) {
		d.Reason = nil // the token was let through; there is no command to number
	} else if d.Reason == nil {
		l.last = s // here the command takes effect
	}
	l.history = append(l.history, d)
	return d, l.last
}

func (l *ledger) answer(w http.ResponseWriter, from string, s fencing.Stamp, raise bool) {
	d, last := l.decide(from, s, raise)
	if l.told != nil {
		l.told(d)
	}
	fenced.Answer(w, last, d.Reason)
}

func (l *ledger) raise(w http.ResponseWriter, r *http.Request) {
	if token, ok := fenced.Token(w, r); ok {
		l.answer(w, "", fencing.Stamp{Token: token}, true)
	}
}

func (l *ledger) put(w http.ResponseWriter, r *http.Request) {
	stamp, ok := fenced.Stamp(w, r)
	if !ok {
		return
	}
	// All of the body first: a slow client would keep out others.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, fenced.MaxBody))
	if err != nil {
		fenced.Refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	var c command
	if err := json.Unmarshal(body, &c); err != nil {
		fenced.Refuse(w, http.StatusBadRequest, err)
		return
	}
	l.answer(w, c.From, stamp, false)
}

// decisions returns the history so far.
func (l *ledger) decisions() []decision {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history[:len(l.history):len(l.history)]
}
