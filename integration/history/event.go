package history

import (
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Kind says what an Event tells.
type Kind string

// What a worker tells of an attempt of its own, by Worker, Path and Attempt.
const (
	Began     Kind = "began"     // it will call Lock now
	Enrolled  Kind = "enrolled"  // has Node; once more after a lost session
	Granted   Kind = "granted"   // holds with Token
	Belief    Kind = "belief"    // was told that Remaining trusted time is left, from At on, and the State
	Unlocking Kind = "unlocking" // it will call Unlock now
	Released  Kind = "released"  // nothing of the attempt will be left
	Lost      Kind = "lost"      // the hold is over, for Reason
	Failed    Kind = "failed"    // ended without a grant, for Reason
)

// What a worker tells of a command to the Resource, by Worker and Op.
const (
	Sent     Kind = "sent"     // it will send Command now
	Answered Kind = "answered" // and has this Answer
)

// What the test itself tells.
const (
	Gone     Kind = "gone"     // the Worker's process has ended; it owes nothing any more
	Fault    Kind = "fault"    // Reason begins to act, on Worker or, if empty, on all
	Healed   Kind = "healed"   // Reason acts no more
	Accepted Kind = "accepted" // the Resource has accepted Stamp; in the order of acceptance
	Override Kind = "override" // Worker, an operator, has put Stamp in the place of what the Resource remembered, for Reason; nobody was writing
	Leftover Kind = "leftover" // Node is on Path when all contenders have left
)

// Event is one line of a history.
type Event struct {
	At     time.Duration // of the shared clock
	Kind   Kind
	Worker string `json:",omitempty"`

	Path      string        `json:",omitempty"`
	Attempt   uint64        `json:",omitempty"`
	Node      string        `json:",omitempty"`
	Token     fencing.Token `json:",omitzero"`
	Remaining time.Duration `json:",omitempty"`
	State     string        `json:",omitempty"` // of a Belief, as the lock spells it; for reading, as time passes between the two
	Reason    string        `json:",omitempty"`
	Frees     bool          `json:",omitempty"` // a Fault that ends holds which had trust left: Node's, all of Path's, or all
	Stops     bool          `json:",omitempty"` // a Fault that stops Worker's process: it tells late what it had learned before

	Resource string `json:",omitempty"` // which has been asked or has accepted, if there are several

	Op      uint64        `json:",omitempty"`
	Command Command       `json:",omitzero"`
	Answer  Answer        `json:",omitzero"`
	Stamp   fencing.Stamp `json:",omitzero"`
}

// Call is what a Command wants of the resource.
type Call string

// The calls of a protected resource that stores one value.
const (
	Raise Call = "raise" // refuse everything older than Stamp.Token
	Read  Call = "read"
	Write Call = "write" // store Value, if Stamp may act
)

// Command is what a worker sends to the resource.
type Command struct {
	Call  Call
	Stamp fencing.Stamp `json:",omitzero"`
	Value string        `json:",omitempty"`
}

// Refusal is why the resource has not done what a Command wants. Only the sender
// of a Duplicate may take it for success.
type Refusal string

// The refusals, as the errors of package fencing name them.
const (
	Stale      Refusal = "stale"      // an older owner's
	Duplicate  Refusal = "duplicate"  // this very Stamp has been applied
	Superseded Refusal = "superseded" // a later one of the same owner has been applied, this one maybe before it
	Zero       Refusal = "zero"       // the Stamp is none
)

// Answer is what the resource says to a Command.
type Answer struct {
	OK      bool          // done; refused otherwise
	Refused Refusal       `json:",omitempty"` // why, if it was
	Last    fencing.Stamp // what the resource remembers
	Value   string        `json:",omitempty"` // of a Read
}
