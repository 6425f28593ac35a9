package grpcfence_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

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

func at(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

type scene struct {
	*testing.T
	site
	conn *grpc.ClientConn
}

func newScene(t *testing.T, o door.Options, c grpcfence.Config, auth ...grpc.UnaryServerInterceptor) *scene {
	s := &scene{T: t, site: site{lists: &lists{of: map[string][]string{}}}}
	var err error
	s.door, err = door.New(o)
	require.NoError(t, err)
	s.start(t, c, auth...)
	s.conn = dial(t, s.addr)
	t.Cleanup(func() {
		require.NoError(t, s.conn.Close())
		s.stop()
	})
	return s
}

func (s *scene) call(ctx context.Context, st fencing.Stamp, entry, fail string) error {
	return s.conn.Invoke(fencing.WithStamp(ctx, st), appendMethod, request("r", entry, "ok", fail), new(wrapperspb.StringValue))
}

// metadata of its own, past the client's interceptor.
func (s *scene) bare(pairs ...string) error {
	cc, err := grpc.NewClient("passthrough:///"+s.addr, plain())
	require.NoError(s, err)
	defer func() { require.NoError(s, cc.Close()) }()
	ctx := metadata.AppendToOutgoingContext(s.Context(), pairs...)
	return grpcfence.Error(cc.Invoke(ctx, appendMethod, request("r", "x", "", ""), new(wrapperspb.StringValue)), fencing.Stamp{})
}

func TestARefusalHasAStatusAndBothStamps(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	require.NoError(t, s.call(t.Context(), at(t, 10, 3), "a", ""))
	for _, c := range []struct {
		stamp fencing.Stamp
		is    error
	}{{at(t, 9, 7), fencing.ErrStale}, {at(t, 10, 2), fencing.ErrSuperseded}} {
		err := s.call(t.Context(), c.stamp, "late", "")
		require.ErrorIs(t, err, c.is)
		require.Equal(t, codes.FailedPrecondition, status.Code(err))
		var stale *fencing.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, &fencing.StaleError{Resource: "r", Presented: c.stamp, Highest: at(t, 10, 3)}, stale)
	}
	require.Equal(t, []string{"a"}, s.entries("r"))
}

func TestBadMetadata(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	for name, c := range map[string]struct {
		pairs []string
		is    error
	}{
		"None":        {nil, grpcfence.ErrNoStamp},
		"Empty":       {[]string{"fence-stamp", ""}, grpcfence.ErrBadStamp},
		"Decimal":     {[]string{"fence-stamp", "10:1"}, grpcfence.ErrBadStamp},
		"TooLarge":    {[]string{"fence-stamp", "0x8000000000000000:1"}, grpcfence.ErrBadStamp},
		"Two":         {[]string{"fence-stamp", "0xa:1", "fence-stamp", "0xb:1"}, grpcfence.ErrBadStamp},
		"ZeroToken":   {[]string{"fence-stamp", "0x0:1"}, fencing.ErrZeroToken},
		"EmptyOp":     {[]string{"fence-stamp", "0xa:1", "fence-op", ""}, fencing.ErrBadOpID},
		"OpControls":  {[]string{"fence-stamp", "0xa:1", "fence-op", "a%00"}, fencing.ErrBadOpID},
		"OpNoPercent": {[]string{"fence-stamp", "0xa:1", "fence-op", "%zz"}, fencing.ErrBadOpID},
	} {
		require.ErrorIs(t, s.bare(c.pairs...), c.is, name)
	}
	require.Zero(t, s.ran.Load())
	require.Equal(t, fencing.Stamp{}, s.door.Last("r"))
}

func TestTheClientSendsNoCommandWithoutAStamp(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	call := func(ctx context.Context) error {
		return s.conn.Invoke(ctx, appendMethod, request("r", "x", "", ""), new(wrapperspb.StringValue))
	}
	require.ErrorIs(t, call(fencing.NewContext(t.Context(), at(t, 10, 1).Token)), grpcfence.ErrNoStamp)
	_, err := s.conn.NewStream(t.Context(), &grpc.StreamDesc{ClientStreams: true}, collectMethod)
	require.ErrorIs(t, err, grpcfence.ErrNoStamp)
	own := metadata.AppendToOutgoingContext(fencing.WithStamp(t.Context(), at(t, 10, 1)), "fence-stamp", "0xb:1")
	require.ErrorContains(t, call(own), "of its own")
	require.ErrorIs(t, call(grpcfence.WithOpID(fencing.WithStamp(t.Context(), at(t, 10, 1)), "\n")), fencing.ErrBadOpID)
	require.Zero(t, s.ran.Load())
	require.NoError(t, s.conn.Invoke(t.Context(), readMethod, wrapperspb.String("r"), new(wrapperspb.StringValue)))
}

// Only the guard can say that nothing was applied.
func TestSilenceIsAnUnknownOutcome(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	err := s.call(t.Context(), at(t, 10, 1), "x", "fail")
	require.Equal(t, codes.Aborted, status.Code(err))
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, "the handler has said so")

	ctx, cancel := context.WithCancel(t.Context())
	s.next = func(context.Context) error { cancel(); return nil }
	err = s.call(ctx, at(t, 10, 2), "in time", "")
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Equal(t, codes.Canceled, status.Code(err))
	s.next = nil
	require.NoError(t, s.call(t.Context(), at(t, 10, 3), "b", ""))
	require.Equal(t, []string{"in time", "b"}, s.entries("r"))

	s.stop()
	require.ErrorIs(t, s.call(t.Context(), at(t, 10, 4), "c", ""), fencing.ErrUnknownOutcome)
	s.start(t, grpcfence.Config{})
}

func TestAHandlerThatDoesNotKnowIsUnknown(t *testing.T) {
	s := newScene(t, door.Options{Settle: time.Minute}, grpcfence.Config{})
	s.next = func(context.Context) error { return fencing.ErrUnknownOutcome }
	require.ErrorIs(t, s.call(t.Context(), at(t, 10, 1), "x", ""), fencing.ErrUnknownOutcome)
	err := s.call(t.Context(), at(t, 20, 1), "y", "")
	var unsettled *door.UnsettledError
	require.ErrorAs(t, err, &unsettled)
	require.Equal(t, at(t, 10, 1), unsettled.Lost)
	require.Greater(t, unsettled.Wait, 50*time.Second)
	require.Equal(t, codes.Unavailable, status.Code(err))
	require.ErrorAs(t, grpcfence.Raise(t.Context(), s.conn, "r", at(t, 30, 0).Token), &unsettled)
	require.Equal(t, at(t, 30, 0), s.door.Last("r"))
}

// gRPC retries by itself where a service config says so. A refusal of the second try
// says nothing about the first.
func TestARefusalOfGRPCsOwnRetryIsUnknown(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	require.NoError(t, s.call(t.Context(), at(t, 20, 1), "a", ""))
	err := s.bare("fence-stamp", "0xa:1")
	require.ErrorContains(t, err, "STALE")
	again := metadata.Pairs("fence-stamp", "0xa:1", "grpc-previous-rpc-attempts", "1")
	cfg := grpcfence.Config{Door: s.door, Resource: grpcfence.One("r")}
	unary, uerr := grpcfence.UnaryServer(cfg)
	require.NoError(t, uerr)
	_, err = unary(metadata.NewIncomingContext(t.Context(), again), nil, &grpc.UnaryServerInfo{FullMethod: appendMethod}, nil)
	err = grpcfence.Error(err, at(t, 10, 1))
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, fencing.ErrStale)
}

func (s *scene) collect(st fencing.Stamp, entries ...string) (answers int, err error) {
	cs, err := s.conn.NewStream(fencing.WithStamp(s.Context(), st), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, collectMethod)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		fail := ""
		if e == "fail" {
			fail = e
		}
		if err := cs.SendMsg(request("stream", e, "", fail)); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	if err := cs.CloseSend(); err != nil {
		return 0, err
	}
	for {
		if err := cs.RecvMsg(new(wrapperspb.StringValue)); errors.Is(err, io.EOF) {
			return answers, nil
		} else if err != nil {
			return answers, err
		}
		answers++
	}
}

func TestAStreamIsOneCommand(t *testing.T) {
	s := newScene(t, door.Options{}, grpcfence.Config{})
	n, err := s.collect(at(t, 10, 1), "a", "b")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	_, err = s.collect(at(t, 10, 1), "a", "b")
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.Equal(t, codes.AlreadyExists, status.Code(err))
	_, err = s.collect(at(t, 9, 1), "late")
	require.ErrorIs(t, err, fencing.ErrStale)
	_, err = s.collect(at(t, 20, 1), "fail")
	require.Equal(t, codes.Aborted, status.Code(err))
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Equal(t, at(t, 20, 0), s.door.Last("stream"))
	_, err = s.collect(at(t, 20, 1), "c")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, s.entries("stream"))
	cs, err := s.conn.NewStream(grpcfence.WithOpID(fencing.WithStamp(t.Context(), at(t, 20, 2)), "pay-1"), &grpc.StreamDesc{ServerStreams: true}, collectMethod)
	require.NoError(t, err)
	require.ErrorIs(t, cs.RecvMsg(new(wrapperspb.StringValue)), fencing.ErrBadOpID)
}

func TestARepetitionWhoseAnswerIsTooLongIsADuplicate(t *testing.T) {
	s := newScene(t, door.Options{MaxOutcome: 1}, grpcfence.Config{})
	require.NoError(t, s.call(t.Context(), at(t, 10, 1), "a", ""))
	err := s.call(t.Context(), at(t, 10, 1), "a", "")
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.Equal(t, codes.AlreadyExists, status.Code(err))
}

// Whoever reaches the guard can present the largest Token there is.
func TestOneForgedTokenLocksEverybodyOutSoAuthenticationComesFirst(t *testing.T) {
	auth := func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
		if md, _ := metadata.FromIncomingContext(ctx); len(md.Get("password")) == 0 {
			return nil, status.Error(codes.Unauthenticated, "who are you?")
		}
		return handler(ctx, req)
	}
	s := newScene(t, door.Options{}, grpcfence.Config{}, auth)
	forged := at(t, 1<<63-1, 1)
	require.Equal(t, codes.Unauthenticated, status.Code(s.call(t.Context(), forged, "x", "")))
	require.Equal(t, codes.Unauthenticated, status.Code(grpcfence.Raise(t.Context(), s.conn, "r", forged.Token)))
	known := metadata.AppendToOutgoingContext(t.Context(), "password", "open sesame")
	require.NoError(t, s.call(known, at(t, 10, 1), "a", ""))

	require.NoError(t, s.call(known, forged, "an insider", ""))
	require.ErrorIs(t, s.call(known, at(t, 10, 2), "b", ""), fencing.ErrStale)
	require.NoError(t, s.door.Override(t.Context(), "r", at(t, 10, 1), "Ada", "a forged token"))
	require.NoError(t, s.call(known, at(t, 10, 2), "b", ""))
}

func TestBadConfigs(t *testing.T) {
	for want, c := range map[string]grpcfence.Config{"Config.Door is nil": {}, "Config.Resource is nil": {Door: new(door.Door)}} {
		_, err := grpcfence.UnaryServer(c)
		require.ErrorContains(t, err, want)
		_, err = grpcfence.StreamServer(c)
		require.ErrorContains(t, err, want)
	}
}

// The first Raise of any client would kill the server.
func TestAServiceWithoutADoorIsRefusedAtOnce(t *testing.T) {
	require.PanicsWithValue(t, "grpcfence: Register was given no Door; door.Open makes one", func() { grpcfence.Register(grpc.NewServer(), nil) })
}
