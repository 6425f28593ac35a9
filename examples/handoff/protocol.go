package main

import (
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// assignment is the first line a worker reads.
type assignment struct {
	Servers []string      `json:"servers"`
	Timeout time.Duration `json:"timeout"` // of the session, as asked for
	Lock    string        `json:"lock"`    // path
	Report  place         `json:"report"`
}

// Orders, each a JSON string.
const orderWrite = "write"

// What a report can be about.
const (
	saysConnecting = "connecting"
	saysConnected  = "connected" // a session stands, with this timeout
	saysState      = "state"     // of the attempt at the lock, at each change
	saysWaiting    = "waiting"   // behind another contender
	saysGranted    = "granted"
	saysRaised     = "raised"    // the store knows the token
	saysRead       = "read"      // the report
	saysReady      = "ready"     // computed, and the hold is good for the write: waits for the order
	saysPublished  = "published" // the store has taken the report
	saysRefused    = "refused"   // it has not, and never will
	saysLost       = "lost"      // the hold, as its own context says
	saysDone       = "done"      // the lock is given back, the session closed
	saysFailed     = "failed"    // anything that is not a part of the story
)

// says is one line of a worker's output.
type says struct {
	What  string        `json:"what"`
	Token fencing.Token `json:"token,omitzero"`
	State string        `json:"state,omitempty"`
	Text  string        `json:"text"`
	// Of a session, as granted.
	Timeout time.Duration `json:"timeout,omitzero"`
	// Of a refusal.
	Presented fencing.Stamp `json:"presented,omitzero"`
	Highest   fencing.Stamp `json:"highest,omitzero"`
}
