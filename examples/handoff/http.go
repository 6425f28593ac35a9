package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// service is a report store that has httpfence's handler before it, and judges
// nothing itself.
type service struct {
	door *door.Door

	mu     sync.Mutex
	report []byte
}

func (s *service) read() ([]byte, fencing.Stamp) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report, s.door.Last(reportName)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		report, last := s.read()
		w.Header().Set(fenced.StampHeader, last.String())
		_, _ = w.Write(report) // the client has gone, and will ask again
	case http.MethodPut:
		report, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.report = report
		w.WriteHeader(http.StatusNoContent)
	default:
		http.Error(w, "GET or PUT", http.StatusMethodNotAllowed)
	}
}

// makeService is -store http: a service in the parent, with the guard's memory in a
// file.
func makeService(ctx context.Context, _ string) (*protected, error) {
	dir, err := os.MkdirTemp("", "zkfence-handoff-")
	if err != nil {
		return nil, err
	}
	memory, err := door.Open(filepath.Join(dir, "stamps"), door.Options{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-store http: %w", err), os.RemoveAll(dir))
	}
	clear := func() error { return errors.Join(memory.Close(), os.RemoveAll(dir)) }
	s := &service{door: memory, report: []byte(reportRaw)}
	guarded, err := httpfence.Guard(s, httpfence.Config{Door: memory, Resource: httpfence.One(reportName)})
	if err != nil {
		return nil, errors.Join(err, clear())
	}
	secret := rand.Text()
	url, stop, err := fenced.Serve(ctx, fenced.Authenticated(secret, guarded))
	if err != nil {
		return nil, errors.Join(err, clear())
	}
	return &protected{
		place: place{Store: "http", Address: url + reportName, Secret: secret},
		what:  url + ", behind httpfence",
		read: func(context.Context) ([]byte, fencing.Stamp, error) {
			report, last := s.read()
			return report, last, nil
		},
		close: func() error { return errors.Join(stop(), clear()) },
	}, nil
}

// remote is an owner's way to the service.
type remote struct {
	client *http.Client
	url    string
}

func openService(p place) (reports, error) {
	// A connection kept alive may be closed while we are stopped, and a late command
	// would fail on it before the guard could refuse it.
	fresh := &http.Transport{DisableKeepAlives: true}
	stamped := httpfence.Transport{Base: bearer{p.Secret, fresh}}
	return &remote{&http.Client{Transport: stamped, Timeout: 10 * time.Second}, p.Address}, nil
}

func (r *remote) Close() error { return nil }

func (r *remote) Raise(ctx context.Context, t fencing.Token) error {
	return httpfence.Raise(ctx, r.client, r.url, t)
}

func (r *remote) Get(ctx context.Context) ([]byte, fencing.Stamp, error) {
	header, report, err := r.do(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, fencing.Stamp{}, err
	}
	last, err := fencing.ParseStamp(header.Get(fenced.StampHeader))
	return report, last, err
}

func (r *remote) Put(ctx context.Context, s fencing.Stamp, report []byte) error {
	_, _, err := r.do(fencing.WithStamp(ctx, s), http.MethodPut, report)
	return err
}

func (r *remote) do(ctx context.Context, method string, body []byte) (http.Header, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, r.url, bytes.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if err := httpfence.Error(resp); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", resp.Status, err)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, fenced.MaxBody))
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.200q", method, r.url, resp.Status, answer)
	}
	return resp.Header, answer, err
}

// bearer says who is speaking: a Stamp does not.
type bearer struct {
	secret string
	base   http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	known := r.Clone(r.Context())
	known.Header.Set("Authorization", "Bearer "+b.secret)
	return b.base.RoundTrip(known)
}
