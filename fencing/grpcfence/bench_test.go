package grpcfence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

// BenchmarkCall compares a command with one that passes unjudged. Both are one call.
func BenchmarkCall(b *testing.B) {
	d, err := door.New(door.Options{})
	require.NoError(b, err)
	s := site{lists: &lists{of: map[string][]string{}}, door: d}
	s.start(b, grpcfence.Config{})
	defer s.stop()
	calls := 0
	cc := dial(b, s.addr, grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		calls++
		return invoke(ctx, method, req, reply, cc, opts...)
	}))
	defer func() { require.NoError(b, cc.Close()) }()
	token, err := fencing.FromUint64(7)
	require.NoError(b, err)
	next := fencing.NewSequencer(token)
	for name, call := range map[string]func() error{
		"Bare": func() error {
			return cc.Invoke(b.Context(), readMethod, wrapperspb.String("r"), new(wrapperspb.StringValue))
		},
		"Guarded": func() error {
			return cc.Invoke(fencing.WithStamp(b.Context(), next.Next()), appendMethod, request("r", "x", "", ""), new(wrapperspb.StringValue))
		},
	} {
		b.Run(name, func(b *testing.B) {
			calls = 0
			n := 0
			for b.Loop() {
				n++
				require.NoError(b, call())
			}
			require.Equal(b, n, calls, "no call more than without a guard")
		})
	}
}
