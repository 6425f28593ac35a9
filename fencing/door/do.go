package door

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Command is what is judged of a command.
type Command struct {
	Resource string
	Stamp    fencing.Stamp
	OpID     string // empty: none
	// Repeatable: to carry it out twice, one right after the other, is the same as
	// once. Only such a command runs again after its answer was lost.
	Repeatable bool
}

// Answer is what became of a command that took effect.
type Answer struct {
	// Outcome is what its function returned. Nil if that was nil, or longer than
	// Options.MaxOutcome in an answer that was recorded.
	Outcome []byte
	// Recorded: the command had been applied before, and this is its outcome then.
	Recorded bool
}

// Do runs c if it may run, once it is its turn. A nil error: it has been applied,
// now or before, and the Answer says which. The Answer is of use too with an error
// that matches fencing.ErrDuplicate: it has the recorded outcome.
//
// run gets ctx as it is. Its error says that the command has not been applied and
// never will be; it is returned as it is, joined with the memory's if that could not
// note it. An error matching fencing.ErrUnknownOutcome says that run does not know.
// If run panics the outcome is unknown too, and the panic goes on.
//
// Other errors: of bad input (fencing.ErrBadResource, ErrBadOpID, ErrZeroToken,
// ErrZeroSeq); a *fencing.StaleError; an *UnsettledError; ErrClosed; ctx's cause
// when it ended before the turn came (fencing.Ended); the file's. If the file fails
// after run has succeeded, the error matches fencing.ErrUnknownOutcome.
//
// run must not call this Door for the same resource, nor Close: it would wait for
// itself.
func (d *Door) Do(ctx context.Context, c Command, run func(context.Context) (outcome []byte, err error)) (Answer, error) {
	if run == nil {
		return Answer{}, errNoRun
	}
	if c.OpID != "" {
		if err := fencing.ValidateOpID(c.OpID); err != nil {
			return Answer{}, err
		}
	}
	r, leave, err := d.enter(ctx, c.Resource)
	if err != nil {
		return Answer{}, err
	}
	defer leave()

	floor, refusal := fencing.Check(r.last, c.Stamp)
	known, done := r.ops[c.OpID]
	switch {
	case errors.Is(refusal, fencing.ErrZeroToken) || errors.Is(refusal, fencing.ErrZeroSeq):
		return Answer{}, errors.Join(fencing.Named(c.Resource, refusal), d.raise(r, c.Resource, floor))
	case done && known.Unknown && !(c.Repeatable && r.pending != nil && r.pending.OpID == c.OpID):
		// Repeatable is: one right after the other. With operation x lost under {7,1} and
		// y applied under {7,2}, the next owner's repetition of x would undo y, and be
		// told to be well.
		return Answer{}, errors.Join(d.unknown(c, fmt.Errorf("the answer to operation %q was lost", c.OpID)), d.raise(r, c.Resource, floor))
	case done && !known.Unknown:
		if err := d.raise(r, c.Resource, floor); err != nil {
			return Answer{}, err
		}
		return Answer{Outcome: known.Bytes, Recorded: true}, nil
	case refusal != nil: // the floor has not risen by it
		err := fencing.Named(c.Resource, refusal)
		if errors.Is(refusal, fencing.ErrDuplicate) {
			return Answer{Outcome: r.answer, Recorded: true}, err
		}
		return Answer{}, err
	}
	if err := d.unsettled(r, c.Resource); err != nil {
		return Answer{}, errors.Join(err, d.raise(r, c.Resource, floor))
	}
	// Nothing at or before a lost Stamp runs, but the last lost one if it is Repeatable
	// and none has been let through after it: to be carried out twice it must come right
	// after itself. Without this {7,1} is lost, {7,2} fails or is lost as well, and
	// {7,1} runs once more, perhaps behind {7,2}, and is told to be well.
	again, lost := done, r.lost
	if p := r.pending; p != nil {
		switch order := c.Stamp.Compare(p.Stamp); {
		case order < 0:
			return Answer{}, d.unknown(c, fmt.Errorf("the answer to the later %s was lost", p.Stamp))
		case order == 0 && !c.Repeatable:
			return Answer{}, d.unknown(c, errors.New("its answer was lost, and it does not run again, for it is not Repeatable: read the resource, then send a later Stamp"))
		case order == 0:
			again = true
		default:
			lost = p.Stamp
		}
	}
	if c.Stamp.Compare(r.lost) <= 0 {
		return Answer{}, d.unknown(c, fmt.Errorf("the answer to %s was lost, and a later one has been let through", r.lost))
	}
	// Before it runs: who finds the file after a crash must know what may have run.
	if err := d.remember(r, entry{Resource: c.Resource, Last: floor, Pending: &pending{c.Stamp, c.OpID}, Lost: lost}); err != nil {
		return Answer{}, err
	}
	return d.run(ctx, r, c, floor, again, run)
}

func (d *Door) run(ctx context.Context, r *room, c Command, floor fencing.Stamp, again bool, run func(context.Context) ([]byte, error)) (Answer, error) {
	ended := false
	lost := func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		r.settled = d.now().Add(d.options.Settle)
	}
	defer func() {
		if !ended {
			lost()
		}
	}()
	out, err := run(ctx)
	ended = true
	switch {
	case errors.Is(err, fencing.ErrUnknownOutcome):
		lost()
		return Answer{}, fmt.Errorf("resource %q: command %s: %w", c.Resource, c.Stamp, err)
	case err != nil && again: // the file says already that nobody knows
		return Answer{}, d.unknown(c, fmt.Errorf("the answer to an earlier try was lost, and this one failed: %w", err))
	case err != nil:
		if noted := d.remember(r, entry{Resource: c.Resource, Last: floor, Lost: r.lost, Failed: c.OpID}); noted != nil {
			lost()
			return Answer{}, errors.Join(err, noted)
		}
		return Answer{}, err
	}
	kept := out
	if len(kept) > d.options.MaxOutcome {
		kept = nil
	}
	if err := d.remember(r, entry{Resource: c.Resource, Last: c.Stamp, Outcome: &outcome{OpID: c.OpID, Bytes: kept}}); err != nil {
		lost()
		return Answer{}, d.unknown(c, fmt.Errorf("it has been carried out, and that could not be recorded: %w", err))
	}
	return Answer{Outcome: out}, nil
}

func (d *Door) unknown(c Command, why error) error {
	return fmt.Errorf("resource %q: command %s: %w: %w", c.Resource, c.Stamp, fencing.ErrUnknownOutcome, why)
}

// unsettled is the error while a lost command can take effect.
func (d *Door) unsettled(r *room, resource string) error {
	if r.pending == nil {
		return nil
	}
	if wait := r.settled.Sub(d.now()); wait > 0 {
		return &UnsettledError{Resource: resource, Lost: r.pending.Stamp, Wait: wait.Round(time.Millisecond) + time.Millisecond}
	}
	return nil
}

// Raise refuses everything older than t from its return on; it waits for a command
// under way. It is what a new owner does before it reads. While a lost command can
// take effect the floor is raised and the error is an *UnsettledError: raise it
// again after that, and read then. Else errors are as those of Do.
func (d *Door) Raise(ctx context.Context, resource string, t fencing.Token) error {
	r, leave, err := d.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer leave()
	floor, refusal := fencing.CheckRaise(r.last, t)
	if refusal != nil {
		return fencing.Named(resource, refusal)
	}
	if err := d.raise(r, resource, floor); err != nil {
		return err
	}
	return d.unsettled(r, resource)
}
