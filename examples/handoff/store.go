package main

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/zkfence/zkfence/fencing"
)

// Headers of the report store.
const (
	stampHeader = "Fencing-Stamp" // of a PUT: what the command carries; of every answer: what the store remembers
	tokenHeader = "Fencing-Token" // of a POST: whose floor it is
)

const maxReport = 1 << 20 // bytes

// store is the protected resource: one report, served over HTTP, with a Gate in
// front of it.
//
//	GET   reads the report
//	POST  raises the floor: a new owner does so before it reads
//	PUT   replaces the report, if its Stamp may act
//
// A refusal is 412 if the owner is too old, 409 if its command came twice or too
// late, 428 if it carries no Stamp, 400 if that is no Stamp; its body is a refusal.
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
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Before the gate: whoever may present tokens may lock everybody out.
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.secret)) != 1 {
			refuse(w, http.StatusUnauthorized, errors.New("not authenticated"))
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (s *store) get(w http.ResponseWriter, _ *http.Request) {
	report, last := s.read()
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set(stampHeader, last.String())
	_, _ = w.Write(report) // the client has gone, and will ask again
}

func (s *store) read() ([]byte, fencing.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report, s.gate.Last()
}

func (s *store) raise(w http.ResponseWriter, r *http.Request) {
	token, err := fencing.ParseToken(r.Header.Get(tokenHeader))
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	s.answer(w, s.gate.Raise(token))
}

func (s *store) put(w http.ResponseWriter, r *http.Request) {
	text := r.Header.Get(stampHeader)
	if text == "" {
		refuse(w, http.StatusPreconditionRequired, errors.New("a PUT needs the header "+stampHeader))
		return
	}
	stamp, err := fencing.ParseStamp(text)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	// All of the body first: inside the gate a slow client would keep out others.
	report, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReport))
	if err != nil {
		refuse(w, http.StatusRequestEntityTooLarge, err)
		return
	}
	s.answer(w, s.gate.Admit(r.Context(), stamp, func() error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report = report
		return nil
	}))
}

func (s *store) answer(w http.ResponseWriter, err error) {
	w.Header().Set(stampHeader, s.gate.Last().String())
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, fencing.ErrStale):
		refuse(w, http.StatusPreconditionFailed, err)
	case errors.Is(err, fencing.ErrDuplicate), errors.Is(err, fencing.ErrSuperseded):
		refuse(w, http.StatusConflict, err)
	case errors.Is(err, fencing.ErrZeroToken), errors.Is(err, fencing.ErrZeroSeq):
		refuse(w, http.StatusBadRequest, err)
	default:
		refuse(w, http.StatusServiceUnavailable, err)
	}
}

// refusal is the body of every answer that is an error. Presented and Highest
// are there if the gate has compared them.
type refusal struct {
	Error     string         `json:"error"`
	Resource  string         `json:"resource,omitempty"`
	Presented *fencing.Stamp `json:"presented,omitempty"`
	Highest   *fencing.Stamp `json:"highest,omitempty"`
}

func refuse(w http.ResponseWriter, status int, err error) {
	body := refusal{Error: err.Error()}
	if stale := (*fencing.StaleError)(nil); errors.As(err, &stale) {
		body.Resource, body.Presented, body.Highest = stale.Resource, &stale.Presented, &stale.Highest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}
