package grpcfence

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

const (
	service     = "zkfence.Fence"
	raiseMethod = "/" + service + "/Raise"
)

// Register adds the service zkfence.Fence to a server, whose one method raises floors
// in d. It stands behind the server's interceptors, authentication among them. It panics
// if d is nil, as grpc's own does of what cannot be served: the first Raise would.
func Register(s grpc.ServiceRegistrar, d *door.Door) {
	if d == nil {
		panic("grpcfence: Register was given no Door; door.Open makes one")
	}
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service,
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Raise", Handler: func(_ any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
			req := new(wrapperspb.StringValue)
			if err := decode(req); err != nil {
				return nil, err
			}
			handler := func(ctx context.Context, _ any) (any, error) { return raise(ctx, d, req.GetValue()) }
			if around == nil {
				return handler(ctx, req)
			}
			return around(ctx, req, &grpc.UnaryServerInfo{FullMethod: raiseMethod}, handler)
		}}},
	}, d)
}

func raise(ctx context.Context, d *door.Door, resource string) (*emptypb.Empty, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	text, _, err := one(md, raiseKey)
	var t fencing.Token
	if err == nil {
		t, err = fencing.ParseToken(text)
	}
	if err != nil {
		return nil, toStatus(fmt.Errorf("%w: %s: %w", ErrBadStamp, raiseKey, err))
	}
	if err := d.Raise(ctx, resource, t); err != nil {
		return nil, toStatus(err)
	}
	return new(emptypb.Empty), nil
}

// Raise raises the floor of a resource, by the name that the server's Config gives it,
// before its new owner reads it. The server must have Registered. Errors are as those
// of a command; after one matching fencing.ErrUnknownOutcome raise it again.
func Raise(ctx context.Context, cc grpc.ClientConnInterface, resource string, t fencing.Token) error {
	if ctx.Err() != nil {
		return fencing.Ended(ctx)
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	ctx = metadata.AppendToOutgoingContext(ctx, raiseKey, t.String())
	err := cc.Invoke(ctx, raiseMethod, wrapperspb.String(resource), new(emptypb.Empty))
	if errors.Is(err, fencing.ErrUnknownOutcome) {
		return err
	}
	return answered(err, fencing.Stamp{Token: t}, raiseMethod, nil)
}
