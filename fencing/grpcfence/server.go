package grpcfence

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

// Config of the server interceptors.
type Config struct {
	// Door judges and remembers; whoever made it closes it, after the server was
	// stopped. All guards of one resource share it.
	Door *door.Door

	// Resource names what a call wants to write. It must give everything that the
	// handlers take for one thing one name. req is nil for a stream. Its error refuses
	// the call as one without a good name.
	Resource func(ctx context.Context, method string, req any) (string, error)

	// Reads reports which methods ("/package.Service/Method") write nothing. Defaults
	// to none.
	Reads func(method string) bool

	// Repeatable reports for which methods to carry a command out twice, one right
	// after the other, is the same as once. Defaults to none.
	Repeatable func(method string) bool
}

// One returns a Resource for Config: all that is written is one resource.
func One(name string) func(context.Context, string, any) (string, error) {
	return func(context.Context, string, any) (string, error) { return name, nil }
}

func none(string) bool { return false }

func (c Config) checked() (Config, error) {
	switch {
	case c.Door == nil:
		return c, errors.New("grpcfence: Config.Door is nil; door.Open makes one")
	case c.Resource == nil:
		return c, errors.New("grpcfence: Config.Resource is nil: which calls write one thing only the service knows; grpcfence.One(name) says all")
	}
	if c.Reads == nil {
		c.Reads = none
	}
	if c.Repeatable == nil {
		c.Repeatable = none
	}
	return c, nil
}

// parse reads what the door judges. tried: the client has sent it before.
func (c Config) parse(ctx context.Context, method string, req any) (cmd door.Command, tried bool, err error) {
	resource, err := c.Resource(ctx, method, req)
	if err == nil {
		err = fencing.ValidateResource(resource)
	}
	if err != nil {
		return cmd, false, fmt.Errorf("%w: %w", fencing.ErrBadResource, err)
	}
	cmd = door.Command{Resource: resource, Repeatable: c.Repeatable(method)}
	md, _ := metadata.FromIncomingContext(ctx)
	text, found, err := one(md, stampKey)
	if err == nil && !found {
		return cmd, false, fmt.Errorf("%w: %s came without %s", ErrNoStamp, method, stampKey)
	}
	if err == nil {
		cmd.Stamp, err = fencing.ParseStamp(text)
	}
	if err != nil {
		return cmd, false, fmt.Errorf("%w: %s: %w", ErrBadStamp, stampKey, err)
	}
	op, found, err := one(md, opKey)
	if err == nil && found {
		cmd.OpID, err = decodeOp(op)
	}
	if err != nil && !errors.Is(err, fencing.ErrBadOpID) {
		err = fmt.Errorf("%w: %w", fencing.ErrBadOpID, err)
	}
	if err != nil {
		return cmd, false, err
	}
	return cmd, len(md.Get(triedKey)) > 0, nil
}

// failure is a handler's own error, which goes to the client as it is.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// refused is the answer that err is.
func refused(err error, tried bool, said *words) error {
	var own failure
	switch {
	case errors.As(err, &own) && !errors.Is(err, fencing.ErrUnknownOutcome):
		said.outcome = failed
		return disown(own.error)
	case tried && (errors.Is(err, fencing.ErrStale) || errors.Is(err, fencing.ErrSuperseded)):
		// What became of the earlier try nobody here knows any more.
		return toStatus(fmt.Errorf("%w: this is not its first try: %w", fencing.ErrUnknownOutcome, err))
	}
	return toStatus(err)
}

// UnaryServer returns an interceptor that runs handlers for commands that may run,
// one at a time for each resource, and for reads. A handler's nil error says that it
// has applied the command, another that it has not, and that it has undone what it
// had begun; one matching fencing.ErrUnknownOutcome, that it does not know. It sees
// the Stamp by fencing.StampFromContext.
//
// When a handler has returned, nothing of the command may go on: what it writes later
// lands behind commands that were let through meanwhile. A handler, or an interceptor
// between, that gives up waiting for what goes on returns an error matching
// fencing.ErrUnknownOutcome, and the Door needs a Settle as long as that can still
// write; a status of DeadlineExceeded or Unavailable says "not applied" as any other.
//
// Chain it behind authentication.
func UnaryServer(c Config) (grpc.UnaryServerInterceptor, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if info.FullMethod == raiseMethod || c.Reads(info.FullMethod) {
			return handler(ctx, req)
		}
		cmd, tried, err := c.parse(ctx, info.FullMethod, req)
		if err != nil {
			return nil, toStatus(err)
		}
		said := &words{
			header:  func(md metadata.MD) { _ = grpc.SetHeader(ctx, md) }, // without it nothing is believed
			trailer: func(md metadata.MD) { _ = grpc.SetTrailer(ctx, md) },
		}
		defer said.last()
		var resp any
		did, err := c.Door.Do(ctx, cmd, func(ctx context.Context) ([]byte, error) {
			said.first()
			var err error
			if resp, err = handler(fencing.WithStamp(ctx, cmd.Stamp), req); err != nil {
				return nil, failure{err}
			}
			return pack(resp), nil
		})
		// A handler's own error can match ErrDuplicate, of a guard further down: as this
		// door's word it would end in an OK for what was not applied.
		var own failure
		if err != nil && (errors.As(err, &own) || !errors.Is(err, fencing.ErrDuplicate)) {
			return nil, refused(err, tried, said)
		}
		if !did.Recorded {
			said.outcome = applied
			return resp, nil
		}
		recorded, unpacked := unpack(did.Outcome)
		if unpacked != nil { // it is not recorded, or by a program with other messages
			if err == nil {
				err = fencing.Named(cmd.Resource, &fencing.StaleError{Presented: cmd.Stamp, Highest: cmd.Stamp})
			}
			return nil, toStatus(err)
		}
		highest := c.Door.Last(cmd.Resource)
		if stale := new(fencing.StaleError); errors.As(err, &stale) {
			highest = stale.Highest // as it was then
		}
		return recorded, grpc.SetHeader(ctx, metadata.Pairs(recordedKey, highest.String()))
	}, nil
}

// pack returns nil if resp cannot be recorded.
func pack(resp any) []byte {
	m, ok := resp.(proto.Message)
	if !ok {
		return nil
	}
	packed, err := anypb.New(m)
	if err != nil {
		return nil
	}
	text, err := proto.Marshal(packed)
	if err != nil {
		return nil
	}
	return text
}

var errNotRecorded = errors.New("grpcfence: no answer is recorded")

func unpack(text []byte) (proto.Message, error) {
	if len(text) == 0 {
		return nil, errNotRecorded
	}
	packed := new(anypb.Any)
	if err := proto.Unmarshal(text, packed); err != nil {
		return nil, err
	}
	return packed.UnmarshalNew()
}

// StreamServer is UnaryServer for streams: one stream is one command, and its handler's
// error says what became of it. Operation IDs are refused, for nothing is recorded.
func StreamServer(c Config) (grpc.StreamServerInterceptor, error) {
	c, err := c.checked()
	if err != nil {
		return nil, err
	}
	return func(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) error {
		if c.Reads(info.FullMethod) {
			return handler(srv, ss)
		}
		cmd, tried, err := c.parse(ss.Context(), info.FullMethod, nil)
		if err == nil && cmd.OpID != "" {
			err = fmt.Errorf("%w: a stream's outcome is not recorded", fencing.ErrBadOpID)
		}
		if err != nil {
			return toStatus(err)
		}
		said := &words{
			header:  func(md metadata.MD) { _ = ss.SetHeader(md) },
			trailer: ss.SetTrailer,
		}
		defer said.last()
		_, err = c.Door.Do(ss.Context(), cmd, func(ctx context.Context) ([]byte, error) {
			said.first()
			if err := handler(srv, stamped{ss, fencing.WithStamp(ctx, cmd.Stamp)}); err != nil {
				return nil, failure{err}
			}
			return nil, nil
		})
		if err != nil {
			return refused(err, tried, said)
		}
		said.outcome = applied
		return nil
	}, nil
}

type stamped struct {
	grpc.ServerStream
	ctx context.Context // a ServerStream's is had by a method
}

func (s stamped) Context() context.Context { return s.ctx }
