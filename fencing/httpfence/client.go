package httpfence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

type opKey struct{}

// WithOpID returns a ctx that carries an operation ID, for the Transport further
// down: the same for the same operation, whoever sends it, under whichever Token.
func WithOpID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, opKey{}, id)
}

// Transport puts the Stamp of a request's context (fencing.WithStamp) into it. A
// command without one is an error matching ErrNoStamp and is not sent: to make one
// up would be a second command each time. Reads get none.
//
// A retry is another request with the same Stamp. The error of one that was not
// answered matches fencing.ErrUnknownOutcome, unless nothing can have been sent. An
// answer is returned as it is, refusals too: give it to Error.
//
// To a redirect with 301, 302 or 303 an http.Client follows with a GET, and returns the
// answer to that for the command's. Transport sends no such GET: the error matches
// fencing.ErrUnknownOutcome unless the guard has said what became of the command. Set
// the client's CheckRedirect to return http.ErrUseLastResponse to get the redirect itself.
//
// Bound a command by its context and not by Client.Timeout: when that is over an
// http.Client puts the text of the error in place of the error, and errors.Is finds
// nothing in it, though the command may have been applied. See Do.
type Transport struct {
	// Base sends. Defaults to http.DefaultTransport.
	Base http.RoundTripper
}

// RoundTrip is http.RoundTripper's.
func (t Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if isRead(r.Method) {
		if command := followed(r); command != nil {
			return nil, command
		}
		return base.RoundTrip(r)
	}
	stamped, err := stamp(r)
	if err != nil {
		if r.Body != nil {
			err = errors.Join(err, r.Body.Close())
		}
		return nil, err
	}
	resp, err := base.RoundTrip(stamped)
	if err != nil && !unsent(r, err) {
		// Not the context's cause, which can be another resource's refusal.
		if ctx := r.Context(); ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
			err = fencing.Ended(ctx)
		}
		err = fmt.Errorf("httpfence: %s %s: no answer: %w: %w", r.Method, r.URL.Redacted(), fencing.ErrUnknownOutcome, err)
	}
	return resp, err
}

func stamp(r *http.Request) (*http.Request, error) {
	ctx := r.Context()
	if ctx.Err() != nil {
		return nil, fencing.Ended(ctx)
	}
	if len(r.Header.Values(RaiseHeader)) > 0 {
		return r, nil
	}
	s, ok := fencing.StampFromContext(ctx)
	if !ok {
		return nil, fmt.Errorf("%w in the context of %s %s: put it there with fencing.WithStamp(ctx, hold.Next())", ErrNoStamp, r.Method, r.URL.Redacted())
	}
	for _, name := range []string{StampHeader, OpHeader} {
		if len(r.Header.Values(name)) > 0 {
			return nil, fmt.Errorf("httpfence: %s %s has a %s header of its own; the context's would be a second", r.Method, r.URL.Redacted(), name)
		}
	}
	stamped := r.Clone(ctx)
	stamped.Header.Set(StampHeader, s.String())
	if id, ok := ctx.Value(opKey{}).(string); ok {
		if err := fencing.ValidateOpID(id); err != nil {
			return nil, err
		}
		stamped.Header.Set(OpHeader, encodeOp(id))
	}
	return stamped, nil
}

// followed returns an error if r is a read that follows the redirect of a command.
func followed(r *http.Request) error {
	resp := r.Response
	if !isRead(r.Method) || resp == nil || resp.Request == nil || isRead(resp.Request.Method) {
		return nil
	}
	command := fmt.Sprintf("httpfence: %s %s was answered with %s to %s", resp.Request.Method, resp.Request.URL.Redacted(), resp.Status, r.URL.Redacted())
	switch said := resp.Header.Get(OutcomeHeader); said {
	case "applied", "failed":
		return fmt.Errorf("%s, and %s by the guard's word; what stands there is no answer to it: have CheckRedirect return http.ErrUseLastResponse", command, said)
	}
	return fmt.Errorf("%s, and not by the guard: %w", command, fencing.ErrUnknownOutcome)
}

// sentAgain reports whether net/http sends r a second time by itself where a connection
// breaks: it does what has an idempotency key.
func sentAgain(r *http.Request) bool {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if _, again := r.Header[name]; again {
			return true
		}
	}
	return false
}

// unsent reports that nothing can have been sent. What is sent again may fail to dial
// then, and a context's cause may be another request's failure to.
func unsent(r *http.Request, err error) bool {
	if sentAgain(r) || r.Context().Err() != nil {
		return false
	}
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// Do is client.Do and Error in one: resp is the answer of the service's own, good
// (WasApplied) or bad, and the error is what package fencing calls everything else. Then
// the body is closed, if there was one. It sees through a Client.Timeout.
func Do(client *http.Client, r *http.Request) (*http.Response, error) {
	if client == nil {
		return nil, errNoClient
	}
	resp, err := client.Do(r)
	if err != nil {
		var of *url.Error
		if errors.As(err, &of) && of.Timeout() && !isRead(r.Method) && !errors.Is(err, fencing.ErrUnknownOutcome) {
			err = fmt.Errorf("httpfence: its time was over: %w: %w", fencing.ErrUnknownOutcome, err)
		}
		return nil, err
	}
	if err := Error(resp); err != nil {
		return nil, errors.Join(err, resp.Body.Close())
	}
	return resp, nil
}

var errNoClient = errors.New("httpfence: the client is nil; its Transport must be a httpfence.Transport")

// Raise raises the floor of the resource that a POST to url would write, before its
// new owner reads it. The client needs no Transport for it. The error is as of
// Error; one without an answer matches fencing.ErrUnknownOutcome, and is sent again.
// Where no guard stands that is an error too, and the service there has got a POST with
// no body.
func Raise(ctx context.Context, client *http.Client, url string, t fencing.Token) error {
	if client == nil {
		return errNoClient
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set(RaiseHeader, t.String())
	resp, err := client.Do(r)
	if err != nil {
		if !unsent(r, err) && !errors.Is(err, fencing.ErrUnknownOutcome) {
			err = fmt.Errorf("httpfence: raise: %w: %w", fencing.ErrUnknownOutcome, err)
		}
		return err
	}
	defer resp.Body.Close()
	if err := Error(resp); err != nil {
		return err
	}
	// A 204 alone many a service says to a POST: with no floor raised the old owner
	// writes on while the new one reads.
	if said, _, err := one(resp.Header, RaisedHeader); err != nil || said != t.String() || resp.StatusCode != http.StatusNoContent {
		return fmt.Errorf("httpfence: raise of %s to %s was answered with %s and %s %q: no guard stands there, and what does may have taken it for a command", url, t, resp.Status, RaisedHeader, said)
	}
	return nil
}

const maxProblem = 64 << 10

// WasApplied reports whether resp, of which Error is nil, answers a command that was
// applied, now or before, by the guard's word. The status alone does not say: a handler
// that redirects with 301, or answers with 304, has applied nothing, and a Gateway's Judge
// has an opinion of its own.
func WasApplied(resp *http.Response) bool { return resp.Header.Get(OutcomeHeader) == "applied" }

// Error returns what package fencing calls the answer to a command, by the guard's
// own word; nil if it is the service's, be it good (WasApplied) or bad. The response stays
// readable.
//
//	*fencing.StaleError      409; and an answer that was recorded for this Stamp, which
//	                         matches ErrDuplicate: a success that came before
//	*door.UnsettledError     503
//	matching ErrUnknownOutcome, ErrZeroToken, ErrZeroSeq, ErrBadResource, ErrBadOpID of
//	package fencing, or ErrNoStamp, ErrBadStamp, ErrNotRun: as they say
//
// The recorded answer of an operation that came with another Stamp is no error.
//
// An answer to a command on which there is no guard's word matches
// fencing.ErrUnknownOutcome, unless it is a 4xx: of a 5xx, whoever stands between has
// given up waiting, and the command may run yet; of what looks like a success, it is a
// login's page, or no guard stands there. So does one that only the redirect of a command
// has led to. Send the command again, with the same Stamp.
func Error(resp *http.Response) error {
	if resp.Request != nil {
		for r := resp.Request; r.Response != nil && r.Response.Request != nil; r = r.Response.Request {
			if err := followed(r); err != nil {
				return errors.Join(err, fencing.ErrUnknownOutcome)
			}
		}
	}
	asked, known := askedWith(resp)
	if text := resp.Header.Get(RecordedHeader); text != "" {
		highest, err := fencing.ParseStamp(text)
		if err != nil {
			return fmt.Errorf("httpfence: %s: %w: %w", RecordedHeader, fencing.ErrUnknownOutcome, err)
		}
		if known && asked == highest && resp.Request.Header.Get(OpHeader) == "" {
			return &fencing.StaleError{Presented: asked, Highest: highest}
		}
		return nil
	}
	mediaType, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || mediaType != problemType {
		return unsaid(resp)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	rest := resp.Body
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), rest), rest}
	if err != nil {
		return fmt.Errorf("httpfence: reading a problem document: %w: %w", fencing.ErrUnknownOutcome, err)
	}
	var p problem
	if err := json.Unmarshal(text, &p); err != nil || !strings.HasPrefix(p.Type, typePrefix) {
		return unsaid(resp) // a service may have problems of its own
	}
	return p.error(resp, asked, known)
}

// unsaid is the error of an answer without a guard's problem. An http.TimeoutHandler in
// front of the guard says 503 while the command runs: taken for the service's own
// refusal, {7,2} would be sent, and {7,1} would be applied all the same. A login's page
// says 200: taken for the service's, {7,1} would be told as applied that nobody has judged.
func unsaid(resp *http.Response) error {
	h, r := resp.Header, resp.Request
	switch {
	case h.Get(OutcomeHeader) != "", resp.StatusCode >= 400 && resp.StatusCode < 500:
		return nil
	case r != nil && isRead(r.Method):
		return nil
	case resp.StatusCode < 400 && (r == nil || r.Header.Get(RaiseHeader) != ""): // Raise looks for itself
		return nil
	}
	return fmt.Errorf("httpfence: answered with %d, and not by the guard: %w: send the same again", resp.StatusCode, fencing.ErrUnknownOutcome)
}

// askedWith is the Stamp of the request, or the Token that it raised to.
func askedWith(resp *http.Response) (s fencing.Stamp, known bool) {
	if resp.Request == nil {
		return s, false
	}
	if text := resp.Request.Header.Get(RaiseHeader); text != "" {
		t, err := fencing.ParseToken(text)
		return fencing.Stamp{Token: t}, err == nil
	}
	s, err := fencing.ParseStamp(resp.Request.Header.Get(StampHeader))
	return s, err == nil
}

func (p problem) error(resp *http.Response, asked fencing.Stamp, known bool) error {
	kind := strings.TrimPrefix(p.Type, typePrefix)
	switch kind {
	case "stale", "superseded", "duplicate":
		want := map[string]error{"stale": fencing.ErrStale, "superseded": fencing.ErrSuperseded, "duplicate": fencing.ErrDuplicate}[kind]
		if p.Presented == nil || p.Highest == nil {
			return fmt.Errorf("httpfence: a problem %q without both stamps: %w: %s", kind, fencing.ErrUnknownOutcome, p.Detail)
		}
		refusal := &fencing.StaleError{Resource: p.Resource, Presented: *p.Presented, Highest: *p.Highest}
		// A cache, or somebody between, could answer one with what was another's.
		if !errors.Is(refusal, want) || known && asked != refusal.Presented {
			return fmt.Errorf("httpfence: a problem %q about %s, remembered %s, to a request with %s: not this guard's answer: %w", kind, p.Presented, p.Highest, asked, fencing.ErrUnknownOutcome)
		}
		// Of a second try, when a newer owner has come between: of the first nobody knows.
		if kind != "duplicate" && resp.Request != nil && sentAgain(resp.Request) {
			return fmt.Errorf("httpfence: perhaps not its first try: %w: %w", fencing.ErrUnknownOutcome, refusal)
		}
		return refusal
	case "unsettled":
		seconds, err := strconv.Atoi(resp.Header.Get("Retry-After"))
		if err != nil || p.Lost == nil || seconds < 0 {
			return fmt.Errorf("%w: %s", ErrNotRun, p.Detail)
		}
		return &door.UnsettledError{Resource: p.Resource, Lost: *p.Lost, Wait: time.Duration(seconds) * time.Second}
	}
	if k, ok := kinds[kind]; ok {
		return fmt.Errorf("%w: answered with %d: %s", k.is, resp.StatusCode, p.Detail)
	}
	return fmt.Errorf("httpfence: a problem %q that this version does not know: %w: %s", kind, fencing.ErrUnknownOutcome, p.Detail)
}
