package httpfence

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

const (
	problemType = "application/problem+json"
	typePrefix  = "tag:zkfence.github.io,2026:"
)

// problem is a document of RFC 9457.
type problem struct {
	Type      string         `json:"type"`
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	Resource  string         `json:"resource,omitempty"`
	Presented *fencing.Stamp `json:"presented,omitempty"`
	Highest   *fencing.Stamp `json:"highest,omitempty"`
	Lost      *fencing.Stamp `json:"lost,omitempty"` // whose answer was
}

var (
	// ErrNoStamp is about a command without a Stamp. On the owner's side nothing was sent: put
	// one into the request's context with fencing.WithStamp.
	ErrNoStamp = errors.New("httpfence: no stamp")
	// ErrBadStamp says that a header of the command cannot be read.
	ErrBadStamp = errors.New("httpfence: bad stamp")
	// ErrNotRun says that the command has not run, for a reason that is no refusal (the memory
	// failed, its time was over before its turn, its body is too long, it asked for
	// another protocol).
	ErrNotRun = errors.New("httpfence: the command has not run")
)

// kinds are the problems that there are, by the last part of their type.
var kinds = map[string]struct {
	status int
	title  string
	is     error // what Error makes of it, where that is not typed
}{
	"stale":           {http.StatusConflict, "The owner is older than one that this resource has seen", nil},
	"superseded":      {http.StatusConflict, "A later command of this owner has been applied; whether this one was is unknown", nil},
	"duplicate":       {http.StatusConflict, "This command has been applied; its answer is not recorded", nil},
	"unsettled":       {http.StatusServiceUnavailable, "An earlier command may still take effect", nil},
	"unknown-outcome": {http.StatusBadGateway, "Whether the command was applied is unknown", fencing.ErrUnknownOutcome},
	"stamp-missing":   {http.StatusPreconditionRequired, "A command needs a stamp", ErrNoStamp},
	"stamp-malformed": {http.StatusBadRequest, "The stamp cannot be read", ErrBadStamp},
	"zero-token":      {http.StatusBadRequest, "The zero token is nobody's", fencing.ErrZeroToken},
	"zero-seq":        {http.StatusBadRequest, "Seq 0 is no command's", fencing.ErrZeroSeq},
	"bad-resource":    {http.StatusBadRequest, "No resource can have this name", fencing.ErrBadResource},
	"bad-op":          {http.StatusBadRequest, "No operation can have this ID", fencing.ErrBadOpID},
	"too-long":        {http.StatusRequestEntityTooLarge, "The body is too long", ErrNotRun},
	"no-upgrade":      {http.StatusNotImplemented, "No other protocol can be asked for", ErrNotRun},
	"unreachable":     {http.StatusBadGateway, "The service cannot be reached", ErrNotRun},
	"busy":            {http.StatusServiceUnavailable, "The request's time was over before its turn, or the guard is shut down", ErrNotRun},
	"memory":          {http.StatusInternalServerError, "What must be remembered cannot be", ErrNotRun},
}

// kindOf tells the problem that err is, and fills in what it names.
func kindOf(err error, p *problem) string {
	var stale *fencing.StaleError
	var unsettled *door.UnsettledError
	switch {
	case errors.Is(err, fencing.ErrUnknownOutcome): // whatever else it says
		return "unknown-outcome"
	case errors.As(err, &stale):
		p.Resource, p.Presented, p.Highest = stale.Resource, &stale.Presented, &stale.Highest
		switch {
		case errors.Is(err, fencing.ErrStale):
			return "stale"
		case errors.Is(err, fencing.ErrDuplicate):
			return "duplicate"
		}
		return "superseded"
	case errors.As(err, &unsettled):
		p.Resource, p.Lost = unsettled.Resource, &unsettled.Lost
		return "unsettled"
	}
	for _, kind := range []string{"stamp-missing", "stamp-malformed", "zero-token", "zero-seq", "bad-resource", "bad-op"} {
		if errors.Is(err, kinds[kind].is) {
			return kind
		}
	}
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return "too-long"
	case errors.Is(err, ErrNotRun):
		return "unreachable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, door.ErrClosed):
		return "busy"
	}
	return "memory"
}

// refuse answers with the problem that err is.
func refuse(w http.ResponseWriter, err error) {
	p := problem{Detail: err.Error()}
	writeProblem(w, kindOf(err, &p), p, err)
}

func writeProblem(w http.ResponseWriter, kind string, p problem, err error) {
	p.Type, p.Title, p.Status = typePrefix+kind, kinds[kind].title, kinds[kind].status
	text, failed := json.Marshal(p)
	if failed != nil { // strings and Stamps have a text always
		text = []byte("{}")
	}
	var unsettled *door.UnsettledError
	if errors.As(err, &unsettled) {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(unsettled.Wait.Seconds()))))
	}
	w.Header().Set("Content-Type", problemType)
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_, _ = w.Write(text) // who does not read it asks again
}
