package httpfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Verdict is what an upstream's answer says of a command.
type Verdict int

// The verdicts. The zero Verdict is Unknown.
const (
	Unknown Verdict = iota // it may have been applied, or may be yet
	Applied
	NotApplied // and never will be
)

// Upstream is a service that cannot check Stamps.
type Upstream struct {
	URL *url.URL // as of httputil.ProxyRequest.SetURL

	// Transport asks it. Defaults to http.DefaultTransport.
	Transport http.RoundTripper

	// Timeout is how long a command may take. It is not cut short when the client
	// leaves: what was sent cannot be taken back. Defaults to 30 s.
	Timeout time.Duration

	// Judge says what an answer to a command means; it must not read the body.
	// Defaults to: what a guard further down says in Fence-Outcome; else Applied for 2xx,
	// 302 and 303, NotApplied for others below 500, and Unknown, for a service that fails
	// may have written before it did.
	Judge func(*http.Response) Verdict
}

func judge(resp *http.Response) Verdict {
	said := resp.Header.Get(OutcomeHeader)
	switch {
	case said == "applied": // as of an answer that was too long to be recorded, a 409
		return Applied
	case said == "failed":
		return NotApplied
	case resp.StatusCode >= 500:
		return Unknown
	case saysApplied(resp.StatusCode):
		return Applied
	}
	return NotApplied
}

// Gateway returns a handler that stands in front of a service that cannot check
// Stamps, as Guard does in front of a handler. It protects the service if every
// write comes through it: let nothing else reach the service, and run one Gateway.
//
// The Door must be one that Open made, with a Settle: for how long the service can
// still carry out a request whose connection is gone. An answer that does not come
// (the connection breaks, Timeout is over, this process ends) leaves the outcome
// unknown, and the client is told: 502. Until Settle is over nothing is let through,
// and then the same Stamp only if it is Repeatable. If the service could not be dialed the
// command has not run.
//
// Put it behind authentication.
func Gateway(u Upstream, c Config) (http.Handler, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	switch {
	case u.URL == nil || u.URL.Host == "" || u.URL.Scheme != "http" && u.URL.Scheme != "https":
		return nil, fmt.Errorf("httpfence: Upstream.URL = %v, want http(s)://host", u.URL)
	case u.Timeout < 0:
		return nil, fmt.Errorf("httpfence: Upstream.Timeout = %v, want 0 for the default, or more", u.Timeout)
	case !c.Door.Durable():
		return nil, errors.New("httpfence: a Gateway forgets everything with its process, and the service does not: make Config.Door with door.Open")
	case c.Door.Options().Settle == 0:
		return nil, errors.New("httpfence: the Door's Settle is 0: say for how long the service can still carry out a request whose connection is gone, for example its own time limit for requests")
	}
	if u.Transport == nil {
		u.Transport = http.DefaultTransport
	}
	if u.Timeout == 0 {
		u.Timeout = 30 * time.Second
	}
	if u.Judge == nil {
		u.Judge = judge
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(u.URL)
			r.SetXForwarded()
		},
		Transport:    upstream{u},
		ErrorHandler: unanswered,
	}
	return &guard{Config: c, next: proxy, judge: verdict, around: func(w http.ResponseWriter, r *http.Request) {
		// Not the client's: it may leave, and the command would be cut in two.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), u.Timeout)
		defer cancel()
		proxy.ServeHTTP(w, r.WithContext(context.WithValue(ctx, answerKey{}, w)))
	}}, nil
}

type answerKey struct{}

// verdict is the guard's judge: what upstream has left in the answer.
func verdict(a *answer) error {
	switch {
	case a.lost != nil:
		return a.lost
	case a.verdict == Applied:
		return nil
	case a.verdict == NotApplied:
		return errNotApplied
	}
	return fencing.ErrUnknownOutcome // the service was not asked, by a way that nobody has thought of
}

// unanswered is the proxy's word on a request that failed.
func unanswered(w http.ResponseWriter, r *http.Request, err error) {
	a, command := w.(*answer)
	switch {
	case !command:
		http.Error(w, "httpfence: the service does not answer", http.StatusBadGateway)
	case unsent(r, err):
		a.lost = fmt.Errorf("%w: the service cannot be reached: %w", ErrNotRun, err)
	default:
		a.lost = fmt.Errorf("%w: the service's answer: %w", fencing.ErrUnknownOutcome, err)
	}
}

// upstream reads an answer to a command to its end before the proxy sees it: one
// that breaks off says nothing.
type upstream struct{ Upstream }

func (u upstream) RoundTrip(r *http.Request) (*http.Response, error) {
	a, command := r.Context().Value(answerKey{}).(*answer)
	resp, err := u.Transport.RoundTrip(r)
	if err != nil || !command {
		return resp, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return nil, errors.New("101 Switching Protocols, which nobody has asked for")
	}
	// A body that is the connection itself, or of a Transport that does not look at
	// contexts, would keep the resource for as long as the service likes.
	defer context.AfterFunc(r.Context(), func() { _ = resp.Body.Close() })()
	verdict := u.Judge(resp)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(a.limit)+1)) // one more: a.over
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("it broke off after %s: %w", resp.Status, err)
	case verdict == Unknown:
		return nil, fmt.Errorf("%s, which says neither that it was applied nor that it was not", resp.Status)
	}
	a.verdict = verdict
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}
