package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"google.golang.org/grpc/metadata"

	"github.com/zkfence/zkfence/fencing"
)

const (
	stampKey    = "fence-stamp"
	opKey       = "fence-op"
	raiseKey    = "fence-raise"
	recordedKey = "fence-recorded"
	outcomeKey  = "fence-outcome"
	triedKey    = "grpc-previous-rpc-attempts" // gRPC's own, of a client that retries
)

var (
	// ErrNoStamp is about a command without a Stamp. On the owner's side nothing was
	// sent: put one into the context with fencing.WithStamp.
	ErrNoStamp = errors.New("grpcfence: no stamp")
	// ErrBadStamp says that the metadata of the command cannot be read.
	ErrBadStamp = errors.New("grpcfence: bad stamp")
	// ErrNotRun says that the command has not run, for a reason that is no refusal.
	ErrNotRun = errors.New("grpcfence: the command has not run")
)

// one is the only value of a key; found is false if there is none.
func one(md metadata.MD, key string) (value string, found bool, err error) {
	switch values := md.Get(key); len(values) {
	case 0:
		return "", false, nil
	case 1:
		return values[0], true, nil
	default:
		return "", true, fmt.Errorf("grpcfence: %d values of %s, want one", len(values), key)
	}
}

type opIDKey struct{}

// WithOpID returns a ctx that carries an operation ID, for the client interceptor:
// the same for the same operation, whoever sends it, under whichever Token.
func WithOpID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, opIDKey{}, id)
}

func encodeOp(id string) string { return url.PathEscape(id) }

func decodeOp(value string) (string, error) {
	id, err := url.PathUnescape(value)
	if err != nil {
		return "", fmt.Errorf("%w: %s %.40q is not percent-encoded", fencing.ErrBadOpID, opKey, value)
	}
	return id, fencing.ValidateOpID(id)
}

// Recorded tells whether an answer, by the header that came with it (grpc.Header),
// was recorded when the command was applied, and which Stamp is remembered now. For
// the Stamp of the command itself that is what ErrDuplicate says elsewhere.
func Recorded(header metadata.MD) (highest fencing.Stamp, recorded bool) {
	text, found, err := one(header, recordedKey)
	if err != nil || !found {
		return fencing.Stamp{}, false
	}
	highest, err = fencing.ParseStamp(text)
	return highest, err == nil
}
