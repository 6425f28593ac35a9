package grpcfence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

// A handler passes on the metadata that it got from a guard further down, under the
// same Stamp. What its own guard's client believes is not changed by it.
func TestWhatAHandlerPassesOnIsNotThisGuardsWord(t *testing.T) {
	var told error // in place of the answer, outside the guard
	outside := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
		defer func() {
			if recover() != nil {
				err = status.Error(codes.Internal, "recovered")
			}
		}()
		if resp, err = handler(ctx, req); told != nil {
			return nil, told
		}
		return resp, err
	}
	s := newScene(t, door.Options{}, grpcfence.Config{}, outside)
	var after func() error
	s.next = func(ctx context.Context) error {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("fence-outcome", "failed", "mine", "kept"))
		_ = grpc.SetHeader(ctx, metadata.Pairs("fence-recorded", "0xa:1"))
		return after()
	}
	send := func(seq uint64) (header, trailer metadata.MD, err error) {
		err = s.conn.Invoke(fencing.WithStamp(t.Context(), at(t, 10, seq)), appendMethod, request("r", "e", "ok", ""),
			new(wrapperspb.StringValue), grpc.Header(&header), grpc.Trailer(&trailer))
		return header, trailer, err
	}

	after = func() error { return nil }
	header, trailer, err := send(1)
	require.NoError(t, err)
	_, recorded := grpcfence.Recorded(header)
	require.False(t, recorded, "%v", header)
	require.Equal(t, []string{"kept"}, trailer.Get("mine"))
	header, _, err = send(1)
	require.NoError(t, err)
	highest, recorded := grpcfence.Recorded(header)
	require.True(t, recorded, "%v", header)
	require.Equal(t, at(t, 10, 1), highest)

	after = func() error { return status.Error(codes.Aborted, "undone") }
	_, _, err = send(2)
	require.Equal(t, codes.Aborted, status.Code(err))
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)

	after, told = func() error { return nil }, status.Error(codes.DeadlineExceeded, "somebody was in a hurry")
	_, _, err = send(3)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome, "it was applied")
	told = nil

	after = func() error { panic("halfway") }
	_, _, err = send(4)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Equal(t, []string{"e", "e"}, s.entries("r"))
}
