package main

import (
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// assignment is the first line a candidate reads.
type assignment struct {
	Servers []string      `json:"servers"`
	Timeout time.Duration `json:"timeout"` // of the session, as asked for
	Path    string        `json:"path"`    // of the election
	Ledger  string        `json:"ledger"`  // URL
	Secret  string        `json:"secret"`
}

// Orders, each a JSON string.
const (
	orderHold = "hold" // stand still between the next check and its command
	orderGo   = "go"   // on with it
)

// What a report can be about.
const (
	saysStatus    = "status"    // several times a second, and nothing to tell
	saysConnected = "connected" // a session stands, with this timeout
	saysEvent     = "event"
	saysHolding   = "holding" // has checked, has a Stamp, and stands still
	saysFailed    = "failed"
	saysDone      = "done" // resigned, session closed
)

// report is one line of a candidate's output.
type report struct {
	What      string        `json:"what"`
	State     string        `json:"state"`
	Token     fencing.Token `json:"token,omitzero"`     // of the term, while it leads
	Remaining time.Duration `json:"remaining,omitzero"` // trusted time left to it
	Ahead     int           `json:"ahead,omitzero"`     // candidates in front of it
	Timeout   time.Duration `json:"timeout,omitzero"`   // of the session, as granted
	Text      string        `json:"text,omitempty"`
}

// command is what a leader asks the ledger to write down.
type command struct {
	From string `json:"from"`
	Text string `json:"text"`
}
