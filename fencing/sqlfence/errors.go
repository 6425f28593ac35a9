package sqlfence

import (
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// What this package answers besides the errors of package fencing.
var (
	// ErrFloor: the command has failed, and its token could not be remembered, so
	// that an older owner's late command may still be let in. Raise, or send the
	// command again, before anything relies on it.
	ErrFloor = errors.New("sqlfence: the floor was not raised")

	// ErrNoTable: a table of the guard is missing. Call Migrate, or create what
	// Schema prints.
	ErrNoTable = errors.New("sqlfence: a table of the guard is missing: call Migrate, or create what Schema prints")

	// ErrReadOnly: the database, or this connection to it, takes no writes, so it
	// cannot remember a token either.
	ErrReadOnly = errors.New("sqlfence: the database is read-only: connect to the primary")

	// ErrFull: the database has no room left. Nothing of the command was kept.
	ErrFull = errors.New("sqlfence: the database has no room left")

	// ErrNoRow: a statement met no row with its key, see Rows.
	ErrNoRow = errors.New("sqlfence: no such row")

	// ErrNotMatched: the fence would have let the statement through, and another
	// of its conditions did not hold, such as an expected version.
	ErrNotMatched = errors.New("sqlfence: a condition besides the fence did not hold")
)

var (
	errMoved       = errors.New("sqlfence: the memory changed between the refusal and the look at it")
	errRolledBack  = errors.New("sqlfence: the database has rolled the transaction back under the function, which went on after an error, or the function has done so itself: what it wrote then may have been kept without a fence")
	errNotMade     = errors.New("sqlfence: guard was not made by New")
	errRowsNotMade = errors.New("sqlfence: rows were not made by Guard.Rows")
	errNoFunction  = errors.New("sqlfence: Do was given no function")
)

// explain puts what to do before an error of a statement of our own.
func explain(fault Fault, err error) error {
	switch fault {
	case NoTable:
		return fmt.Errorf("%w: %w", ErrNoTable, err)
	case ReadOnly:
		return fmt.Errorf("%w: %w", ErrReadOnly, err)
	case Full:
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// about names the command that err is of.
func about(resource string, s fencing.Stamp, err error) error {
	return fmt.Errorf("sqlfence: resource %q, command %s: %w", resource, s, err)
}

// unfloored adds to err that the floor was not raised, if it was not.
func unfloored(err, floor error) error {
	switch {
	case floor == nil:
		return err
	case err == nil:
		return fmt.Errorf("%w: %w", ErrFloor, floor)
	}
	return fmt.Errorf("%w; %w: %w", err, ErrFloor, floor)
}
