package election

import "errors"

// Whatever returns one of these says before it that it is election's, and of
// which path.
var (
	// ErrBusy is Run's and Campaign's while this Election campaigns or leads.
	ErrBusy = errors.New("this Election campaigns or leads already")
	// ErrNoLeader is Leader's: no candidate is in the line.
	ErrNoLeader = errors.New("nobody leads")
)
