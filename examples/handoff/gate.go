package main

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"sync"

	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
)

// store is the protected resource: one report, served over HTTP, with a Gate in
// front of it.
//
//	GET   reads the report
//	POST  raises the floor: a new owner does so before it reads
//	PUT   replaces the report, if its Stamp may act
//
// A refusal is 412 if the owner is too old, 409 if its command came twice or too
// late, 428 if it carries no Stamp, 400 if that is no Stamp.
type store struct {
	secret string
	gate   *fencing.Gate

	mu     sync.Mutex
	report []byte
}

func newStore(secret, name, report string) *store {
	s := &store{secret: secret, gate: fencing.NewGate(fencing.Stamp{}), report: []byte(report)}
	s.gate.Resource = name
	return s
}

func (s *store) handler() http.Handler {
	mux := http.NewServeMux()
	path := "/" + s.gate.Resource
	mux.HandleFunc("GET "+path, s.get)
	mux.HandleFunc("POST "+path, s.raise)
	mux.HandleFunc("PUT "+path, s.put)
	return fenced.Authenticated(s.secret, mux)
}

func (s *store) get(w http.ResponseWriter, _ *http.Request) {
	report, last := s.read()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set(fenced.StampHeader, last.String())
	_, _ = w.Write(report) // the client has gone, and will ask again
}

func (s *store) read() ([]byte, fencing.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report, s.gate.Last()
}

func (s *store) raise(w http.ResponseWriter, r *http.Request) {
	if token, ok := fenced.Token(w, r); ok {
		s.answer(w, s.gate.Raise(token))
	}
}

func (s *store) put(w http.ResponseWriter, r *http.Request) {
	stamp, ok := fenced.Stamp(w, r)
	if !ok {
		return
	}
	// All of the body first: inside the gate a slow client would keep out others.
	report, err := io.ReadAll(http.MaxBytesReader(w, r.Body, fenced.MaxBody))
	if err != nil {
		fenced.Refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	s.answer(w, s.gate.Admit(r.Context(), stamp, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report = report
		return nil
	}))
}

func (s *store) answer(w http.ResponseWriter, err error) { fenced.Answer(w, s.gate.Last(), err) }

// makeGate is -store gate: the report and its Gate in the parent's memory.
func makeGate(ctx context.Context, _ string) (*protected, error) {
	secret := rand.Text()
	s := newStore(secret, reportName, reportRaw)
	url, stop, err := fenced.Serve(ctx, s.handler())
	if err != nil {
		return nil, err
	}
	return &protected{
		place: place{Store: "gate", Address: url + reportName, Secret: secret},
		what:  url + ", behind a fencing.Gate",
		read: func(context.Context) ([]byte, fencing.Stamp, error) {
			report, last := s.read()
			return report, last, nil
		},
		close: stop,
	}, nil
}

// overHTTP needs no closing: its connections are not kept alive.
type overHTTP struct{ *fenced.Client }

func (overHTTP) Close() error { return nil }

func openGate(p place) (reports, error) { return overHTTP{fenced.NewClient(p.Address, p.Secret)}, nil }
