package session

import (
	"errors"

	"github.com/go-zookeeper/zk"
)

// Outcome is what an error says about the request it came from.
type Outcome uint8

// Outcomes.
const (
	OutcomeDone    Outcome = iota + 1 // it took effect
	OutcomeRefused                    // it did not, and never will: a server judged it, or it was refused before it was sent
	OutcomeNotSent                    // it never left
	OutcomeUnknown                    // it may have taken effect, now or later
)

// refusals are the answers that settle a request. Whatever is not listed is
// Unknown: a new kind of error must never read as "nothing happened".
var refusals = []error{
	zk.ErrNoNode, zk.ErrNoAuth, zk.ErrBadVersion, zk.ErrNoChildrenForEphemerals, zk.ErrNodeExists, zk.ErrNotEmpty,
	zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrReconfigDisabled,
	zk.ErrInvalidPath, zk.ErrInvalidFlags, zk.ErrShortBuffer,
}

// OutcomeOf classifies the error of one request. ErrSessionExpired is Unknown:
// a server says it to requests that raced with the end of their session, and
// one of them may have come first. ErrSessionMoved is Unknown: the request may
// have been forwarded before the move was noticed.
func OutcomeOf(err error) Outcome {
	if err == nil {
		return OutcomeDone
	}
	if errors.Is(err, zk.ErrNoServer) {
		return OutcomeNotSent
	}
	for _, r := range refusals {
		if errors.Is(err, r) {
			return OutcomeRefused
		}
	}
	return OutcomeUnknown
}
