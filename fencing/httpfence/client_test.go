package httpfence_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

type body struct {
	io.Reader
	closed bool
}

func (b *body) Close() error { b.closed = true; return nil }

func TestTheTransportAddsTheContextsStampAndNoOther(t *testing.T) {
	var sent []*http.Request
	transport := httpfence.Transport{Base: base(func(r *http.Request) (*http.Response, error) {
		sent = append(sent, r)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})}
	request := func(ctx context.Context, method string) (*http.Request, *body) {
		b := &body{Reader: strings.NewReader("x")}
		r, err := http.NewRequestWithContext(ctx, method, "http://127.0.0.1/", b)
		require.NoError(t, err)
		return r, b
	}
	try := func(r *http.Request) error {
		resp, err := transport.RoundTrip(r)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		return err
	}
	stamped := fencing.WithStamp(t.Context(), at(t, 10, 1))

	for _, ctx := range []context.Context{t.Context(), fencing.NewContext(t.Context(), at(t, 10, 1).Token), fencing.WithStamp(t.Context(), at(t, 10, 0))} {
		r, b := request(ctx, http.MethodPost)
		require.ErrorIs(t, try(r), httpfence.ErrNoStamp, "a Token makes no Stamp")
		require.True(t, b.closed)
	}
	r, b := request(stamped, http.MethodPost)
	r.Header.Set(httpfence.StampHeader, "0xb:1")
	require.ErrorContains(t, try(r), "of its own")
	require.True(t, b.closed)
	r, _ = request(httpfence.WithOpID(stamped, "a\n"), http.MethodPost)
	require.ErrorIs(t, try(r), fencing.ErrBadOpID)
	ended, cancel := context.WithCancel(stamped)
	cancel()
	r, _ = request(ended, http.MethodPost)
	err := try(r)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Empty(t, sent)

	r, _ = request(stamped, http.MethodGet)
	require.NoError(t, try(r))
	require.Empty(t, sent[0].Header.Values(httpfence.StampHeader))
	r, _ = request(httpfence.WithOpID(stamped, " pay 17/ü "), http.MethodPost)
	for range 2 { // a retry
		require.NoError(t, try(r))
	}
	require.Empty(t, r.Header, "the caller's request is the caller's")
	for _, r := range sent[1:] {
		require.Equal(t, "0xa:1", r.Header.Get(httpfence.StampHeader))
		require.Equal(t, "%20pay%2017%2F%C3%BC%20", r.Header.Get(httpfence.OpHeader))
	}
}

func TestARequestWithoutAnAnswerHasAnUnknownOutcome(t *testing.T) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: httpfence.Transport{Base: transport}}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }))
	defer server.Close()
	ctx := fencing.WithStamp(t.Context(), at(t, 10, 1))
	post := func(url string, headers ...string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("x"))
		require.NoError(t, err)
		for _, h := range headers {
			r.Header.Set(h, "1")
		}
		resp, err := client.Do(r)
		if err == nil {
			require.NoError(t, resp.Body.Close())
		}
		return err
	}
	require.ErrorIs(t, post(server.URL), fencing.ErrUnknownOutcome)
	require.ErrorIs(t, httpfence.Raise(t.Context(), client, server.URL, at(t, 10, 0).Token), fencing.ErrUnknownOutcome)

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	nobody := "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	err = post(nobody)
	require.Error(t, err)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, "nothing was sent")
	require.NotErrorIs(t, httpfence.Raise(t.Context(), client, nobody, at(t, 10, 0).Token), fencing.ErrUnknownOutcome)
	require.ErrorIs(t, post(nobody, "Idempotency-Key"), fencing.ErrUnknownOutcome, "net/http may have sent it before")
}

// What is not this guard's answer to this request must decide nothing.
func TestErrorTrustsNoStrangersProblem(t *testing.T) {
	respond := func(contentType, text string, headers ...string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPut, "/", nil)
		r.Header.Set(httpfence.StampHeader, "0xa:3")
		h := http.Header{"Content-Type": {contentType}}
		for i := 0; i < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: http.StatusConflict, Status: "409 Conflict", Header: h, Body: io.NopCloser(strings.NewReader(text)), Request: r}
	}
	const kind = `{"type":"tag:zkfence.github.io,2026:`
	const problem = "application/problem+json"
	for name, resp := range map[string]*http.Response{
		"NoProblem":   respond("text/plain", kind+`stale","presented":"0xa:3","highest":"0xb:1"}`),
		"AnothersOwn": respond(problem, `{"type":"about:blank","title":"Conflict"}`),
		"NoJSON":      respond(problem, `<html>`),
	} {
		require.NoError(t, httpfence.Error(resp), name)
		require.NotEmpty(t, text(t, resp), "stays readable")
	}
	for name, resp := range map[string]*http.Response{
		"AnothersCommand": respond(problem, kind+`stale","presented":"0xa:2","highest":"0xb:1"}`),
		"NotStale":        respond(problem, kind+`stale","presented":"0xa:3","highest":"0xa:3"}`),
		"NotDuplicate":    respond(problem, kind+`duplicate","presented":"0xa:3","highest":"0xa:4"}`),
		"NoStamps":        respond(problem, kind+`superseded"}`),
		"NewKind":         respond(problem, kind+`of-later-days"}`),
		"BadRecord":       respond("text/plain", "", httpfence.RecordedHeader, "mine"),
	} {
		err := httpfence.Error(resp)
		require.Error(t, err, name)
		for _, refusal := range []error{fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded} {
			require.NotErrorIs(t, err, refusal, name)
		}
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome, name)
	}
	resp := respond(problem+"; charset=utf-8", kind+`stale","resource":"r","presented":"0xa:3","highest":"0xb:1"}`)
	require.ErrorIs(t, httpfence.Error(resp), fencing.ErrStale)
	require.Contains(t, text(t, resp), "0xb:1")

	// net/http sends what has an idempotency key a second time by itself, and says
	// nothing: of the first try a refusal of the second tells nothing.
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		for kindOf, want := range map[string]error{"stale": fencing.ErrUnknownOutcome, "duplicate": fencing.ErrDuplicate} {
			highest := map[string]string{"stale": "0xb:1", "duplicate": "0xa:3"}[kindOf]
			resp := respond(problem, kind+kindOf+`","presented":"0xa:3","highest":"`+highest+`"}`)
			resp.Request.Header.Set(key, "1")
			require.ErrorIs(t, httpfence.Error(resp), want)
		}
	}
}

// The context of two requests has ended with the error of one, which was never sent. The
// other was.
func TestTheEndOfAContextDoesNotSayThatNothingWasSent(t *testing.T) {
	received, released := make(chan struct{}, 2), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { received <- struct{}{}; <-released }))
	defer server.Close()
	defer close(released)
	for _, cause := range []error{
		&net.OpError{Op: "dial", Err: errors.New("connection refused")},
		&fencing.StaleError{Resource: "another", Presented: at(t, 10, 1), Highest: at(t, 10, 1)},
	} {
		ctx, cancel := context.WithCancelCause(fencing.WithStamp(t.Context(), at(t, 10, 1)))
		go func() { <-received; cancel(cause) }()
		r, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL, nil)
		require.NoError(t, err)
		_, err = (&http.Client{Transport: httpfence.Transport{Base: server.Client().Transport}}).Do(r)
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, fencing.ErrDuplicate)
		require.ErrorContains(t, err, cause.Error())
	}
}

func TestARaiseThatMeetsNoGuardIsAnError(t *testing.T) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	defer server.Close()
	err := httpfence.Raise(t.Context(), &http.Client{Transport: transport}, server.URL, at(t, 10, 0).Token)
	require.ErrorContains(t, err, "no guard")
}

// A service without a guard that answers a POST with 204, as many do, was taken for a
// guard that had raised its floor: the new owner went on to read while the old one
// could still write.
func TestARaiseBelievesOnlyAGuard(t *testing.T) {
	for name, said := range map[string]string{"Nothing": "", "AnotherToken": "0x9", "NoToken": "yes", "NotSo": "0xa"} {
		transport := &http.Transport{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if said != "" {
				w.Header().Set(httpfence.RaisedHeader, said)
			}
			if name != "NotSo" {
				w.WriteHeader(http.StatusNoContent)
			}
		}))
		err := httpfence.Raise(t.Context(), &http.Client{Transport: transport}, server.URL, at(t, 10, 0).Token)
		transport.CloseIdleConnections()
		server.Close()
		require.ErrorContains(t, err, "no guard", name)
	}
	d := newDesk(t, created)
	resp := d.send(http.MethodPost, "", httpfence.RaiseHeader, "0xa")
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
	require.Equal(t, "0xa", resp.Header.Get(httpfence.RaisedHeader))
	require.Empty(t, d.send(http.MethodPost, "", httpfence.RaiseHeader, "0x9").Header.Get(httpfence.RaisedHeader), "it was refused")
}
