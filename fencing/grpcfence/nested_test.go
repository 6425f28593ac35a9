package grpcfence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

// A handler that asks a service behind a guard of its own, under the same Stamp, and
// returns its error: that one's DUPLICATE was taken for this guard's word, or, as an
// error of the handler that matches fencing.ErrDuplicate, ended in an OK with no
// answer, though this guard had noted that the command was not applied.
func TestAGuardFurtherDownIsNotThisGuardsWord(t *testing.T) {
	detailed, err := status.New(codes.AlreadyExists, "applied, further down").WithDetails(
		&errdetails.ErrorInfo{Domain: "zkfence.github.io", Reason: "DUPLICATE", Metadata: map[string]string{"presented": "0xa:1", "highest": "0xa:1"}},
		&errdetails.LocalizedMessage{Locale: "en", Message: "the handler's own"})
	require.NoError(t, err)
	for name, further := range map[string]error{
		"Status":   detailed.Err(),
		"Fencing":  &fencing.StaleError{Resource: "further", Presented: at(t, 10, 1), Highest: at(t, 10, 1)},
		"AsClient": grpcfence.Error(detailed.Err(), at(t, 10, 1)),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, door.Options{}, grpcfence.Config{})
			s.next = func(context.Context) error { return further }
			err := s.call(t.Context(), at(t, 10, 1), "a", "")
			require.Error(t, err)
			require.NotErrorIs(t, err, fencing.ErrDuplicate)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			require.Equal(t, status.Code(further), status.Code(err))

			// Nor for a client without the interceptors, which sees no trailer.
			bare := s.bare("fence-stamp", "0xa:1")
			require.Equal(t, status.Code(further), status.Code(bare))
			for _, d := range status.Convert(bare).Details() {
				require.IsNotType(t, new(errdetails.ErrorInfo), d)
			}
			if name != "Fencing" {
				require.Len(t, status.Convert(bare).Details(), 1, "the handler's own stays")
			}
			_, stream := s.collect(at(t, 10, 2), "b")
			require.Error(t, stream)
			require.NotErrorIs(t, stream, fencing.ErrDuplicate)

			require.Equal(t, at(t, 10, 0), s.door.Last("r"))
			require.Empty(t, s.entries("r"))
			s.next = nil
			require.NoError(t, s.call(t.Context(), at(t, 10, 1), "a", ""))
		})
	}
}
