package fencetest

import (
	"context"
	"errors"

	"github.com/zkfence/zkfence/fencing"
)

// TB is what the suite needs of a test; a *testing.T has it.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Cleanup(func())
	TempDir() string
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	FailNow()
	Failed() bool
}

// Runner is a TB with subtests; *testing.T is one.
type Runner[T any] interface {
	TB
	Run(name string, f func(t T)) bool
}

// Subject is the guard under test.
type Subject struct {
	// New returns a store for one property, with nothing in it under the names that
	// the suite uses: they begin with "fencetest-" and differ from run to run, but
	// for those of the property about names. t is that property's test.
	New func(t TB) Store

	// NoFailures: the guard's commands cannot fail once it has admitted them, as a
	// single conditional statement. Nothing is asked about failing commands then.
	NoFailures bool

	// NoOverride: the guard cannot be overridden. A Guard must be an Overrider
	// otherwise.
	NoOverride bool

	// NoRestart: the memory is in the process and dies with the guard. Guards on
	// one store are then one guard, and restarts are not played.
	NoRestart bool

	// OpIDs: the guard takes operation IDs.
	OpIDs bool

	// LosesAnswers: an answer on its way to the guard can be made to be lost. A Guard
	// must be a Loser then.
	LosesAnswers bool

	// Seed is for random choices. Defaults to 1.
	Seed uint64
}

// Store is where a guard keeps its memory and its data: a database, a folder. If
// it is a Restarter it is restarted too.
type Store interface {
	// Open returns another instance of the guard on this store. Several are open
	// at a time, as in several processes.
	Open(ctx context.Context) (Guard, error)
}

// Restarter is a Store that can be stopped and started, with everything that it
// had made durable. No Guard is open during a Restart.
type Restarter interface {
	Restart(ctx context.Context) error
}

// Command is one guarded command.
type Command struct {
	Resource string
	Stamp    fencing.Stamp
	Entry    string // what it appends; short, of letters, digits and "-:/"
	Fail     bool   // it is made to fail once admitted, with ErrCommand
	// OpID and Outcome are for guards with operation IDs, else empty. Outcome is
	// what the command gives as its outcome, to be recorded under the OpID.
	OpID    string
	Outcome string
}

// ErrCommand is for a command to fail with. Do's error need not match it.
var ErrCommand = errors.New("fencetest: this command fails")

// Guard is one instance of the guard under test, behind a thin adapter. All but
// Close is called concurrently.
type Guard interface {
	// Do has the guard run the command, and returns the guard's error as it is:
	// refusals must match those of package fencing with errors.Is and errors.As.
	// outcome is the recorded one, "" for a command without OpID.
	Do(ctx context.Context, c Command) (outcome string, err error)

	// Raise raises the floor of the resource.
	Raise(ctx context.Context, resource string, t fencing.Token) error

	// Read returns the entries of the resource in the order in which they were
	// appended, and the Stamp that the guard remembers. Nothing there: both empty.
	Read(ctx context.Context, resource string) (entries []string, last fencing.Stamp, err error)

	// Close ends this instance. What it remembers stays in the store.
	Close() error
}

// Loser is a Guard whose answers from the store can be made to be lost.
type Loser interface {
	// LoseNextAnswer has the next command of this instance be applied, and the answer
	// to what applied it not arrive. The floor has been raised before.
	LoseNextAnswer()
}

// Overrider is a Guard that can be overridden.
type Overrider interface {
	// Override puts to in place of the remembered Stamp.
	Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error

	// Overrides returns the records kept for the resource, oldest first.
	Overrides(ctx context.Context, resource string) ([]fencing.Override, error)
}
