//go:build linux

// Package worker is a lock holder that is a process of its own, so that it can be
// stopped and killed for real: the test binary, started again. It does what its
// parent orders, one order after the other, and tells all that it does and
// believes, as history.Events.
//
// What a worker told just before it was killed can be missing from the history.
// Times are CLOCK_MONOTONIC, which all processes of a machine share.
package worker

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/zkfence/zkfence/integration/history"
)

// env carries the Config to the process that is to be the worker.
const env = "ZKFENCE_INTEGRATION_WORKER"

// Config is what a worker starts with.
type Config struct {
	Name     string
	Identity string // what others see of it in its nodes; Name if ""
	Servers  []string
	Timeout  time.Duration // of the session
	Tick     time.Duration // of the servers
	Path     string        // of the lock
	Store    string        // URL of the resource
	Dwell    time.Duration // between two commands of a Cycle

	Election string        // its path, for Lead
	Led      string        // URL of the resource that leaders write to
	Beat     time.Duration // between two commands of a leader

	OwnWallClock bool // that Process.SetWallClock can step
}

// What a worker can be told to do.
const (
	Lock   = "lock"   // and wait for it, a minute at most
	Unlock = "unlock" // what it holds
	Raise  = "raise"  // the resource's floor to its token
	Read   = "read"
	Write  = "write" // Value
	Wall   = "wall"  // say what its wall clock says
	Cycle  = "cycle" // lock, raise, read, write twice, unlock, until Halt
	Lead   = "lead"  // campaign, raise, read, write a few times, resign, until Halt; beside the other orders

	// Crowd begins as many attempts at once as Value says, which unlock as soon as
	// they hold, and is done when all of them wait.
	Crowd    = "crowd"
	Disperse = "disperse" // wait until nothing is left of the Crowd
	Tire     = "tire"     // Crowd, of attempts that give up as soon as they wait, and Disperse
	Weigh    = "weigh"    // collect garbage, and tell the Weight
)

// What it does while it takes further orders.
const (
	LetGo = "let go" // unlock what it holds; it may lock again at once
	Send  = "send"   // write Value, with the next stamp
	Again = "again"  // write once more what Send has sent with that Value, with the stamp that it had
)

// Order is one thing to do.
type Order struct {
	ID    uint64
	Do    string
	Value string `json:",omitempty"`
	Halt  bool   `json:",omitempty"` // ends a Cycle after its hold, and a Lead; carried out at once, and not answered
}

// Done is what became of an Order.
type Done struct {
	Order  uint64
	Err    string         `json:",omitempty"`
	Answer history.Answer `json:",omitzero"`  // of the resource
	Cycles int            `json:",omitempty"` // holds, or terms, that were given back
	Weight Weight         `json:",omitzero"`  // of a Weigh
	Wall   time.Time      `json:",omitzero"`  // of a Wall
}

// line is one line of a worker's output.
type line struct {
	Event *history.Event `json:",omitempty"`
	Done  *Done          `json:",omitempty"`
}

// Now reads the clock that all processes of this machine share.
func Now() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		panic(err) // no Linux is without it
	}
	return time.Duration(ts.Nano())
}
