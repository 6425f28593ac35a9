package httpfence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

// Config of a guard.
type Config struct {
	// Door judges and remembers; whoever made it closes it, after the server was shut
	// down. All guards of one resource share it.
	Door *door.Door

	// Resource names what a request wants to write: the name under which the memory is
	// kept. It must give everything that the service takes for one thing one name: if
	// /a and /a/ are one report and have two names, the report has two floors. A
	// constant is right for most services. It may read the body: it and the handler each
	// have one. Its error refuses the request as one without a good name.
	Resource func(*http.Request) (string, error)

	// Repeatable reports that to carry the request out twice, one right after the
	// other, is the same as once. Defaults to PUT and DELETE.
	Repeatable func(*http.Request) bool

	// MaxBody is how long a command's body can be, in bytes. Defaults to 1 MiB.
	MaxBody int64
}

// One returns a Resource for Config: all that is written is one resource.
func One(name string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return name, nil }
}

func (c Config) checked() (Config, error) {
	switch {
	case c.Door == nil:
		return c, errors.New("httpfence: Config.Door is nil; door.Open makes one")
	case c.Resource == nil:
		return c, errors.New("httpfence: Config.Resource is nil: which requests write one thing only the service knows; httpfence.One(name) says all")
	case c.MaxBody < 0:
		return c, fmt.Errorf("httpfence: Config.MaxBody = %d bytes, want 0 for the default, or more", c.MaxBody)
	}
	if c.MaxBody == 0 {
		c.MaxBody = 1 << 20
	}
	if c.Repeatable == nil {
		c.Repeatable = func(r *http.Request) bool { return r.Method == http.MethodPut || r.Method == http.MethodDelete }
	}
	return c, nil
}

// guard is a handler in front of another.
type guard struct {
	Config
	next http.Handler
	// around runs a command's handler.
	around func(http.ResponseWriter, *http.Request)
	// judge says what the answer means: nil, applied; an error matching
	// fencing.ErrUnknownOutcome; another, not applied.
	judge func(*answer) error
}

// errNotApplied is what a handler's answer means, and goes to nobody.
var errNotApplied = errors.New("httpfence: the handler has not applied it")

// Guard returns a handler that runs next for commands that may run, one at a time
// for each resource, and for reads. next runs in this process: 2xx, 302 and 303 say
// that it has applied the command, any other status that it has not, and that it has
// undone what it had begun (a ServeMux redirects with 301 and 307 what it has not
// shown to anybody). Of a panic, and with 503 or 504, the outcome is unknown. next
// sees the Stamp by fencing.StampFromContext.
//
// When next has returned, nothing of the command may go on: what it writes later
// lands behind commands that were let through meanwhile. An http.TimeoutHandler lets
// its handler go on: with one in next, give the Door a Settle as long as the handler
// can still write.
//
// Put it behind authentication. The Door's memory should last as long as next's data.
func Guard(next http.Handler, c Config) (http.Handler, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	if next == nil {
		return nil, errors.New("httpfence: Guard: the handler is nil")
	}
	return &guard{Config: c, next: next, around: next.ServeHTTP, judge: judgeHandler}, nil
}

// judgeHandler believes no 503 and 504: a handler that gives up waiting says so and
// what it waited for goes on. As "not applied" it would let {8,1} in at once, and
// {7,1}, whose time was over, would write behind it.
func judgeHandler(a *answer) error {
	switch {
	case saysApplied(a.status):
		return nil
	case a.status == http.StatusServiceUnavailable, a.status == http.StatusGatewayTimeout:
		return fmt.Errorf("%w: the handler answered with %d, and what it has begun may go on", fencing.ErrUnknownOutcome, a.status)
	}
	return errNotApplied
}

func saysApplied(status int) bool {
	return status < 300 || status == http.StatusFound || status == http.StatusSeeOther
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") != "" {
		refuseAs(w, "no-upgrade", errors.New("httpfence: nobody could judge what is written in another protocol: ask without the Upgrade header"))
		return
	}
	if isRead(r.Method) {
		g.next.ServeHTTP(w, r)
		return
	}
	// Before its turn: a body that comes slowly would keep the resource. And before
	// anybody looks into it: what Resource has read the handler would not find.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.MaxBody))
	if err != nil {
		if long := new(http.MaxBytesError); !errors.As(err, &long) {
			err = fmt.Errorf("httpfence: reading the body: %w: %w", context.Canceled, err) // its client has left it
		}
		refuse(w, err)
		return
	}
	resource, err := g.Resource(withBody(r.Context(), r, body))
	if err == nil {
		err = fencing.ValidateResource(resource)
	}
	if err != nil {
		refuseAs(w, "bad-resource", err)
		return
	}
	text, raise, err := one(r.Header, RaiseHeader)
	switch {
	case err != nil:
		refuse(w, fmt.Errorf("%w: %w", ErrBadStamp, err))
	case raise && len(r.Header.Values(StampHeader)) > 0:
		refuse(w, fmt.Errorf("%w: both %s and %s: a raise is no command", ErrBadStamp, RaiseHeader, StampHeader))
	case raise:
		g.raise(w, r, resource, text)
	default:
		g.command(w, r, resource, body)
	}
}

// withBody is r with a body of its own, so that whoever reads it takes it from nobody.
func withBody(ctx context.Context, r *http.Request, body []byte) *http.Request {
	own := r.WithContext(ctx)
	own.Body, own.ContentLength, own.TransferEncoding = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
	if len(body) == 0 {
		own.Body = http.NoBody
	}
	return own
}

// refuseAs is refuse for a kind that err does not tell by itself.
func refuseAs(w http.ResponseWriter, kind string, err error) {
	writeProblem(w, kind, problem{Detail: err.Error()}, err)
}

func (g *guard) raise(w http.ResponseWriter, r *http.Request, resource, text string) {
	t, err := fencing.ParseToken(text)
	if err != nil {
		refuse(w, fmt.Errorf("%w: %s: %w", ErrBadStamp, RaiseHeader, err))
		return
	}
	if err := g.Door.Raise(r.Context(), resource, t); err != nil {
		refuse(w, err)
		return
	}
	w.Header().Set(RaisedHeader, t.String())
	w.WriteHeader(http.StatusNoContent)
}

// parse reads what the door judges.
func (g *guard) parse(r *http.Request, resource string, body []byte) (door.Command, error) {
	c := door.Command{Resource: resource, Repeatable: g.Repeatable(withBody(r.Context(), r, body))}
	text, found, err := one(r.Header, StampHeader)
	if err == nil && !found {
		return c, fmt.Errorf("%w: %s %s has no %s header", ErrNoStamp, r.Method, r.URL.Path, StampHeader)
	}
	if err == nil {
		c.Stamp, err = fencing.ParseStamp(text)
	}
	if err != nil {
		return c, fmt.Errorf("%w: %s: %w", ErrBadStamp, StampHeader, err)
	}
	op, found, err := one(r.Header, OpHeader)
	if err == nil && found {
		c.OpID, err = decodeOp(op)
	}
	if err != nil && !errors.Is(err, fencing.ErrBadOpID) {
		err = fmt.Errorf("%w: %w", fencing.ErrBadOpID, err)
	}
	return c, err
}

func (g *guard) command(w http.ResponseWriter, r *http.Request, resource string, body []byte) {
	c, err := g.parse(r, resource, body)
	if err != nil {
		refuse(w, err)
		return
	}
	a := newAnswer(g.Door.Options().MaxOutcome)
	did, err := g.Door.Do(r.Context(), c, func(ctx context.Context) ([]byte, error) {
		g.around(a, withBody(fencing.WithStamp(ctx, c.Stamp), r, body))
		text := a.encode()
		return text, g.judge(a)
	})
	recorded := ""
	if stale := new(fencing.StaleError); errors.As(err, &stale) {
		recorded = stale.Highest.String() // as it was then
	} else if did.Recorded {
		recorded = g.Door.Last(resource).String()
	}
	switch {
	case errors.Is(err, errNotApplied) && !errors.Is(err, fencing.ErrUnknownOutcome):
		if !a.sendFirst(w, a.encode(), "failed") {
			w.WriteHeader(a.status)
		}
	case err != nil && !errors.Is(err, fencing.ErrDuplicate):
		refuse(w, err)
	case err == nil && !did.Recorded && a.sendFirst(w, did.Outcome, "applied"):
	case send(w, did.Outcome, recorded):
	case err != nil:
		refuse(w, err)
	default: // applied, and there is no answer to send
		refuse(w, fencing.Named(resource, &fencing.StaleError{Presented: c.Stamp, Highest: c.Stamp}))
	}
}
