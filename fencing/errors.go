package fencing

import (
	"errors"
	"fmt"
)

// What Check, a Gate and the guards refuse a command with.
var (
	// ErrStale: the command's token is older than one the resource has seen. Its
	// owner has lost the lock, and this answer never changes: stop.
	ErrStale = errors.New("fencing: stale token")

	// ErrDuplicate: this very Stamp has been applied. A caller that was retrying
	// may take it for success.
	ErrDuplicate = errors.New("fencing: duplicate command")

	// ErrSuperseded: a later command of the same owner has been applied. Whether
	// this one was applied before it is not known here: never take it for success.
	ErrSuperseded = errors.New("fencing: superseded command")

	// ErrZeroToken: the token is the zero Token, which no lock ever grants. It
	// mostly means that a program forgot to pass the token on.
	ErrZeroToken = errors.New("fencing: zero token")

	// ErrZeroSeq: the Stamp's Seq is 0, which belongs to no command. It is what
	// Raise leaves in the memory.
	ErrZeroSeq = errors.New("fencing: zero sequence number")
)

// StaleError is the refusal of one command, with the two Stamps that decided it.
// By errors.Is it matches exactly one of ErrStale, ErrDuplicate and
// ErrSuperseded, whichever the two Stamps say.
type StaleError struct {
	Resource  string // what refused, as its guard is named; empty if it has no name
	Presented Stamp  // of the command
	Highest   Stamp  // what the resource remembers; Seq is 0 if no command with that token has succeeded yet
}

// Error names the resource and both Stamps.
func (e *StaleError) Error() string {
	where := ""
	if e.Resource != "" {
		where = fmt.Sprintf("resource %q: ", e.Resource)
	}
	switch kind := e.Unwrap(); {
	case errors.Is(kind, ErrStale):
		return fmt.Sprintf("fencing: %sstale token: presented %s is older than remembered %s", where, e.Presented, e.Highest)
	case errors.Is(kind, ErrDuplicate):
		return fmt.Sprintf("fencing: %sduplicate command: presented %s, remembered %s: it has been applied", where, e.Presented, e.Highest)
	case errors.Is(kind, ErrSuperseded):
		return fmt.Sprintf("fencing: %ssuperseded command: presented %s, remembered %s: a later one has been applied, whether this one was is unknown", where, e.Presented, e.Highest)
	}
	return fmt.Sprintf("fencing: %srefused: presented %s, remembered %s", where, e.Presented, e.Highest)
}

// Unwrap returns ErrStale, ErrDuplicate or ErrSuperseded; nil if Presented is
// newer than Highest, which no refusal of this package is.
func (e *StaleError) Unwrap() error {
	switch byToken := e.Presented.Token.Compare(e.Highest.Token); {
	case byToken < 0:
		return ErrStale
	case byToken > 0 || e.Presented.Seq > e.Highest.Seq:
		return nil
	case e.Presented.Seq == e.Highest.Seq:
		return ErrDuplicate
	default:
		return ErrSuperseded
	}
}
