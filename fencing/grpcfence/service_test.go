package grpcfence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

const (
	appendMethod  = "/test.Lists/Append"
	readMethod    = "/test.Lists/Read"
	collectMethod = "/test.Lists/Collect"
)

// lists is a service that appends entries, and knows nothing of Stamps. A request
// is resource, entry, outcome, "fail" if it is to, with a blank line between.
type lists struct {
	mu    sync.Mutex
	of    map[string][]string
	calls sync.Map // number -> ctx of the test's call, by which it is paused
	ran   atomic.Int64
	next  func(context.Context) error // what a handler does besides
}

const between = "\n\n"

func (l *lists) paused(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	if n, err := strconv.ParseInt(strings.Join(md.Get("test-call"), ""), 10, 64); err == nil {
		if c, ok := l.calls.Load(n); ok {
			return c.(context.Context)
		}
	}
	return ctx
}

func (l *lists) append(ctx context.Context, text string) (*wrapperspb.StringValue, error) {
	l.ran.Add(1)
	part := strings.Split(text, between)
	paused := l.paused(ctx)
	fencetest.Pause(paused)
	if l.next != nil {
		if err := l.next(ctx); err != nil {
			return nil, err
		}
	}
	if part[3] != "" {
		fencetest.Pause(paused)
		return nil, status.Error(codes.Aborted, fencetest.ErrCommand.Error())
	}
	l.mu.Lock()
	l.of[part[0]] = append(l.of[part[0]], part[1])
	l.mu.Unlock()
	fencetest.Pause(paused)
	return wrapperspb.String(part[2]), nil
}

func (l *lists) entries(resource string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.of[resource])
}

func (l *lists) desc() *grpc.ServiceDesc {
	unary := func(name string, f func(context.Context, string) (*wrapperspb.StringValue, error)) grpc.MethodDesc {
		return grpc.MethodDesc{MethodName: name, Handler: func(_ any, ctx context.Context, decode func(any) error, around grpc.UnaryServerInterceptor) (any, error) {
			req := new(wrapperspb.StringValue)
			if err := decode(req); err != nil {
				return nil, err
			}
			handler := func(ctx context.Context, req any) (any, error) {
				return f(ctx, req.(*wrapperspb.StringValue).GetValue())
			}
			return around(ctx, req, &grpc.UnaryServerInfo{FullMethod: "/test.Lists/" + name}, handler)
		}}
	}
	return &grpc.ServiceDesc{
		ServiceName: "test.Lists",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{
			unary("Append", l.append),
			unary("Read", func(_ context.Context, resource string) (*wrapperspb.StringValue, error) {
				return wrapperspb.String(strings.Join(l.entries(resource), " ")), nil
			}),
		},
		Streams: []grpc.StreamDesc{{StreamName: "Collect", ClientStreams: true, ServerStreams: true, Handler: func(_ any, ss grpc.ServerStream) error {
			for {
				m := new(wrapperspb.StringValue)
				if err := ss.RecvMsg(m); errors.Is(err, io.EOF) {
					return nil
				} else if err != nil {
					return err
				}
				answer, err := l.append(ss.Context(), m.GetValue())
				if err != nil {
					return err
				}
				if err := ss.SendMsg(answer); err != nil {
					return err
				}
			}
		}}},
	}
}

// byText is a Resource for requests as above; streams write one.
func byText(_ context.Context, _ string, req any) (string, error) {
	if m, ok := req.(*wrapperspb.StringValue); ok {
		return strings.Split(m.GetValue(), between)[0], nil
	}
	return "stream", nil
}

func reads(method string) bool { return method == readMethod }

// site is the service on loopback.
type site struct {
	*lists
	door   *door.Door
	server *grpc.Server
	addr   string
	served sync.WaitGroup
	calls  atomic.Int64
}

// start runs it behind the guard, and that behind auth.
func (s *site) start(t require.TestingT, c grpcfence.Config, auth ...grpc.UnaryServerInterceptor) {
	if c.Resource == nil {
		c.Resource = byText
	}
	c.Door, c.Reads = s.door, reads
	unary, err := grpcfence.UnaryServer(c)
	require.NoError(t, err)
	stream, err := grpcfence.StreamServer(c)
	require.NoError(t, err)
	s.server = grpc.NewServer(grpc.ChainUnaryInterceptor(append(auth, unary)...), grpc.ChainStreamInterceptor(stream))
	s.server.RegisterService(s.desc(), nil)
	grpcfence.Register(s.server, s.door)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s.addr = l.Addr().String()
	s.served.Go(func() {
		if err := s.server.Serve(l); err != nil {
			panic(err)
		}
	})
}

func (s *site) stop() {
	s.server.Stop()
	s.served.Wait()
}

func plain() grpc.DialOption { return grpc.WithTransportCredentials(insecure.NewCredentials()) }

func dial(t require.TestingT, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	cc, err := grpc.NewClient("passthrough:///"+addr, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient(reads)), grpc.WithStreamInterceptor(grpcfence.StreamClient(reads)))...)
	require.NoError(t, err)
	return cc
}

func request(resource, entry, outcome, fail string) *wrapperspb.StringValue {
	text := fmt.Sprint(resource, between, entry, between, outcome, between, fail)
	return wrapperspb.String(strings.ToValidUTF8(text, "?")) // or it would not be sent
}
