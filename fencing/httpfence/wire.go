package httpfence

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/zkfence/zkfence/fencing"
)

// The headers.
const (
	StampHeader    = "Fence-Stamp"
	OpHeader       = "Fence-Op"
	RaiseHeader    = "Fence-Raise"
	RaisedHeader   = "Fence-Raised"
	RecordedHeader = "Fence-Recorded"
	OutcomeHeader  = "Fence-Outcome"
)

// isRead reports whether a request with this method is no command.
func isRead(method string) bool {
	switch method {
	case "", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return true
	}
	return false
}

// one is the only value of a header; found is false if there is none. Two would be
// two opinions of which one was meant.
func one(h http.Header, name string) (value string, found bool, err error) {
	switch values := h.Values(name); len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", true, fmt.Errorf("httpfence: %d values of %s, want one", len(values), name)
	}
}

// An operation ID may have any character but controls; a header may not, and blanks
// at its ends do not arrive.
func encodeOp(id string) string { return url.PathEscape(id) }

func decodeOp(value string) (string, error) {
	id, err := url.PathUnescape(value)
	if err != nil {
		return "", fmt.Errorf("%w: %s %.40q is not percent-encoded", fencing.ErrBadOpID, OpHeader, value)
	}
	return id, fencing.ValidateOpID(id)
}
