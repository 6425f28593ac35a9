package fenced

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Headers of a protected resource.
const (
	StampHeader = "Fencing-Stamp" // of a command: what it carries; of an answer: what the resource remembers
	TokenHeader = "Fencing-Token" // whose floor is to be raised
)

// MaxBody is how many bytes a command or an answer may have.
const MaxBody = 1 << 20

// Authenticated lets only those pass who know the secret. It stands before the
// gate: whoever may present tokens may lock everybody out.
func Authenticated(secret string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
			Refuse(w, http.StatusUnauthorized, errors.New("not authenticated"))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Stamp is the one that a request carries. If it carries none, or a bad one, the
// request has been refused.
func Stamp(w http.ResponseWriter, r *http.Request) (s fencing.Stamp, ok bool) {
	text := r.Header.Get(StampHeader)
	if text == "" {
		Refuse(w, http.StatusPreconditionRequired, errors.New("a "+r.Method+" needs the header "+StampHeader))
		return fencing.Stamp{}, false
	}
	s, err := fencing.ParseStamp(text)
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return fencing.Stamp{}, false
	}
	return s, true
}

// Token is the one whose floor a request raises. If it carries no good one the
// request has been refused.
func Token(w http.ResponseWriter, r *http.Request) (t fencing.Token, ok bool) {
	t, err := fencing.ParseToken(r.Header.Get(TokenHeader))
	if err != nil {
		Refuse(w, http.StatusBadRequest, err)
		return fencing.Token{}, false
	}
	return t, true
}

// Answer says what became of a command, and what the resource remembers now.
//
// A refusal is 412 if the owner is too old, 409 if its command came twice or too
// late, 400 if it could never be a command.
func Answer(w http.ResponseWriter, last fencing.Stamp, err error) {
	w.Header().Set(StampHeader, last.String())
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, fencing.ErrStale):
		Refuse(w, http.StatusPreconditionFailed, err)
	case errors.Is(err, fencing.ErrDuplicate), errors.Is(err, fencing.ErrSuperseded):
		Refuse(w, http.StatusConflict, err)
	case errors.Is(err, fencing.ErrZeroToken), errors.Is(err, fencing.ErrZeroSeq):
		Refuse(w, http.StatusBadRequest, err)
	default:
		Refuse(w, http.StatusServiceUnavailable, err)
	}
}

// refusal is the body of every answer that is an error. Presented and Highest
// are there if they have been compared.
type refusal struct {
	Error     string         `json:"error"`
	Resource  string         `json:"resource,omitempty"`
	Presented *fencing.Stamp `json:"presented,omitempty"`
	Highest   *fencing.Stamp `json:"highest,omitempty"`
}

// Refuse answers with err.
func Refuse(w http.ResponseWriter, status int, err error) {
	body := refusal{Error: err.Error()}
	if stale := (*fencing.StaleError)(nil); errors.As(err, &stale) {
		body.Resource, body.Presented, body.Highest = stale.Resource, &stale.Presented, &stale.Highest
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client has gone
}

// Serve serves a resource on loopback until stop is called.
func Serve(ctx context.Context, h http.Handler) (url string, stop func() error, err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: h, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	stop = func() error {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if server.Shutdown(stopping) != nil {
			_ = server.Close() // a client hangs on; the program is over all the same
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	}
	return "http://" + listener.Addr().String() + "/", stop, nil
}
