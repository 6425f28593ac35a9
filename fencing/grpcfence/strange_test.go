package grpcfence_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

// A server of a later version says something about a command that has run.
func TestAReasonOfALaterVersionIsAnUnknownOutcome(t *testing.T) {
	for reason, want := range map[string]error{"OF_LATER_DAYS": fencing.ErrUnknownOutcome, "NOT_RUN": grpcfence.ErrNotRun} {
		s, err := status.New(codes.Aborted, "said").WithDetails(&errdetails.ErrorInfo{Domain: "zkfence.github.io", Reason: reason})
		require.NoError(t, err)
		err = grpcfence.Error(s.Err(), at(t, 10, 1))
		require.ErrorIs(t, err, want)
		if reason == "NOT_RUN" {
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		}
	}
}

// A handler has asked another guard, under the same Stamp, which does not know.
func TestAHandlersUnknownOutcomeWithARefusalInItIsUnknown(t *testing.T) {
	for _, highest := range []fencing.Stamp{at(t, 10, 1), at(t, 10, 9), at(t, 11, 0)} {
		s := newScene(t, door.Options{}, grpcfence.Config{})
		s.next = func(context.Context) error {
			return fmt.Errorf("%w: %w", fencing.ErrUnknownOutcome, &fencing.StaleError{Resource: "further", Presented: at(t, 10, 1), Highest: highest})
		}
		require.ErrorIs(t, s.call(t.Context(), at(t, 10, 1), "a", ""), fencing.ErrUnknownOutcome)
		_, err := s.collect(at(t, 10, 2), "b")
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	}
}
