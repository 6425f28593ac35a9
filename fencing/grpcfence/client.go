package grpcfence

import (
	"context"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/zkfence/zkfence/fencing"
)

// stamp puts the context's Stamp into the metadata.
func stamp(ctx context.Context, method string) (context.Context, fencing.Stamp, error) {
	if ctx.Err() != nil {
		return nil, fencing.Stamp{}, fencing.Ended(ctx)
	}
	s, ok := fencing.StampFromContext(ctx)
	if !ok {
		return nil, s, fmt.Errorf("%w in the context of %s: put it there with fencing.WithStamp(ctx, hold.Next())", ErrNoStamp, method)
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	for _, key := range []string{stampKey, opKey} {
		if len(md.Get(key)) > 0 {
			return nil, s, fmt.Errorf("grpcfence: %s has a %s of its own; the context's would be a second", method, key)
		}
	}
	ctx = metadata.AppendToOutgoingContext(ctx, stampKey, s.String())
	if id, ok := ctx.Value(opIDKey{}).(string); ok {
		if err := fencing.ValidateOpID(id); err != nil {
			return nil, s, err
		}
		ctx = metadata.AppendToOutgoingContext(ctx, opKey, encodeOp(id))
	}
	return ctx, s, nil
}

// answered is what err says of a command.
func answered(err error, asked fencing.Stamp, method string, trailer metadata.MD) error {
	if err == nil {
		return nil
	}
	if refusal := fromStatus(err, asked); refusal != nil {
		return refusal
	}
	switch status.Code(err) {
	case codes.Unauthenticated, codes.PermissionDenied, codes.Unimplemented:
		return err // of who stands before the guard
	}
	if said := trailer.Get(outcomeKey); len(said) > 0 && said[len(said)-1] == failed {
		return err // the handler's
	}
	return &refusal{fmt.Errorf("grpcfence: %s: no word of the guard's: %w: %w", method, fencing.ErrUnknownOutcome, err), status.Convert(err)}
}

// Error makes of a guard's status what package fencing calls it, for a client without
// these interceptors; asked is the Stamp that was sent. Other errors stay as they are.
func Error(err error, asked fencing.Stamp) error {
	if refusal := fromStatus(err, asked); refusal != nil {
		return refusal
	}
	return err
}

// UnaryClient returns an interceptor that puts the Stamp of a call's context
// (fencing.WithStamp) into its metadata. A command without one is an error matching
// ErrNoStamp and is not sent. Methods for which reads is true (nil: none) get none.
//
// A retry is another call with the same Stamp. An error is what package fencing calls
// it, see the package documentation; a nil error can be a recorded answer's, see
// Recorded.
func UnaryClient(reads func(method string) bool) grpc.UnaryClientInterceptor {
	if reads == nil {
		reads = none
	}
	return func(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
		if method == raiseMethod || reads(method) {
			return invoke(ctx, method, req, reply, cc, opts...)
		}
		ctx, s, err := stamp(ctx, method)
		if err != nil {
			return err
		}
		var trailer metadata.MD
		err = invoke(ctx, method, req, reply, cc, append(opts, grpc.Trailer(&trailer))...)
		return answered(err, s, method, trailer)
	}
}

// StreamClient is UnaryClient for streams.
func StreamClient(reads func(method string) bool) grpc.StreamClientInterceptor {
	if reads == nil {
		reads = none
	}
	return func(ctx context.Context, desc *grpc.StreamDesc, cc *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption) (grpc.ClientStream, error) {
		if reads(method) {
			return open(ctx, desc, cc, method, opts...)
		}
		ctx, s, err := stamp(ctx, method)
		if err != nil {
			return nil, err
		}
		cs, err := open(ctx, desc, cc, method, opts...)
		if err != nil {
			return nil, answered(err, s, method, nil)
		}
		return &asking{cs, s, method}, nil
	}
}

type asking struct {
	grpc.ClientStream
	asked  fencing.Stamp
	method string
}

func (a *asking) RecvMsg(m any) error {
	err := a.ClientStream.RecvMsg(m)
	if err == nil || errors.Is(err, io.EOF) {
		return err
	}
	return answered(err, a.asked, a.method, a.Trailer())
}
