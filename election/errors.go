package election

import "errors"

var (
	// ErrBusy is Run's and Campaign's while this Election campaigns or leads.
	ErrBusy = errors.New("election: busy: this Election campaigns or leads already")
	// ErrNoLeader is Leader's: no candidate is in the line.
	ErrNoLeader = errors.New("election: nobody leads")
)
