package session

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
)

// Ended is why ctx has ended, for the caller of a request. It is context.Cause but for a
// cause that would settle a request, which it keeps from errors.Is.
//
// The invariant: OutcomeOf of what an abandoned request is answered with is
// OutcomeUnknown. A cause can be any error, and an errgroup makes it a sibling's:
//
//	A  sends a multi; it is on its way
//	B  is answered with zk.ErrNoNode, and so ends the ctx that it shares with A
//	A  turns away with that cause; taken for a server's word about its own request, it
//	   says "not applied, nor will it be"
//	   the multi is applied
func Ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if OutcomeOf(cause) == OutcomeUnknown {
		return cause
	}
	return &endedError{cause}
}

type endedError struct{ cause error }

func (e *endedError) Error() string { return e.cause.Error() }

// Is reports whether the cause matches target, unless target is about one request.
func (e *endedError) Is(target error) bool {
	return target != zk.ErrNoServer && !slices.Contains(refusals, target) && errors.Is(e.cause, target)
}

// As is errors.As of the cause.
func (e *endedError) As(target any) bool { return errors.As(e.cause, target) }
