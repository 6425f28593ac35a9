package fencing

import (
	"context"
	"errors"
	"slices"
)

// Ended is why ctx has ended, for a guard to answer with. It is context.Cause but for a
// cause that is a guard's verdict, which it keeps from errors.Is and errors.As: the
// cause can be what another resource has said, as in an errgroup whose first command
// was refused.
//
//	A  is answered by its resource with ErrDuplicate, and so ends the ctx it shares with B
//	B  sends nothing, or turns away from what it has sent, with that cause; taken for
//	   its own resource's word it says that B has been applied
//
// Whoever classifies the error of something that was sent with ctx asks first whether
// ctx has ended: the cause can be any store's error as well.
func Ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	var stale *StaleError
	if errors.As(cause, &stale) {
		return &endedError{cause}
	}
	for _, verdict := range verdicts {
		if errors.Is(cause, verdict) {
			return &endedError{cause}
		}
	}
	return cause
}

// verdicts are what a guard says of one command.
var verdicts = []error{ErrStale, ErrDuplicate, ErrSuperseded, ErrZeroToken, ErrZeroSeq, ErrUnknownOutcome}

type endedError struct{ cause error }

func (e *endedError) Error() string { return e.cause.Error() }

// Is is errors.Is of the cause, but for verdicts.
func (e *endedError) Is(target error) bool {
	return !slices.Contains(verdicts, target) && errors.Is(e.cause, target)
}

// As is errors.As of the cause, but for the refusal itself.
func (e *endedError) As(target any) bool {
	if _, verdict := target.(**StaleError); verdict {
		return false
	}
	return errors.As(e.cause, target)
}
