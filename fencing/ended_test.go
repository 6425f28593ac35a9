package fencing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

type ofAType struct{ error }

func (o ofAType) Unwrap() error { return o.error }

func TestTheEndOfAContextIsNoVerdict(t *testing.T) {
	errOther := errors.New("of a sibling")
	stale := &fencing.StaleError{Resource: "another", Presented: stamp(t, 7, 1), Highest: stamp(t, 7, 1)}
	for _, verdict := range []error{stale, fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded, fencing.ErrZeroSeq, fencing.ErrZeroToken, fencing.ErrUnknownOutcome} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(ofAType{fmt.Errorf("%w: %w", errOther, verdict)})
		err := fencing.Named("r", fencing.Ended(ctx))
		for _, sentinel := range []error{fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded, fencing.ErrZeroSeq, fencing.ErrZeroToken, fencing.ErrUnknownOutcome} {
			require.NotErrorIs(t, err, sentinel)
		}
		var refusal *fencing.StaleError
		require.NotErrorAs(t, err, &refusal)
		require.ErrorIs(t, err, errOther)
		var typed ofAType
		require.ErrorAs(t, err, &typed)
		require.ErrorContains(t, err, `resource "r": of a sibling: `+verdict.Error())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errOther)
	require.Equal(t, errOther, fencing.Ended(ctx), "another stays what it is")
}
