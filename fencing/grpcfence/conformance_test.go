package grpcfence_test

import (
	"context"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

type store struct {
	site
	path string
	t    fencetest.TB
}

func (s *store) Restart(context.Context) error {
	if s.server != nil {
		s.stop()
		if err := s.door.Close(); err != nil {
			return err
		}
	}
	var err error
	if s.door, err = door.Open(s.path, door.Options{}); err == nil {
		s.start(s.t, grpcfence.Config{})
	}
	return err
}

func (s *store) Open(context.Context) (fencetest.Guard, error) {
	bare, err := grpc.NewClient("passthrough:///"+s.addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &owner{s, dial(s.t, s.addr), bare}, err
}

type owner struct {
	*store
	conn, bare *grpc.ClientConn
}

func (o *owner) Close() error {
	if err := o.bare.Close(); err != nil {
		return err
	}
	return o.conn.Close()
}

func (o *owner) Do(ctx context.Context, c fencetest.Command) (string, error) {
	n := o.site.calls.Add(1)
	o.lists.calls.Store(n, ctx)
	fail := ""
	if c.Fail {
		fail = "yes"
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "test-call", strconv.FormatInt(n, 10))
	// What the interceptor would refuse to send is sent all the same: the guard is judged.
	conn := o.conn
	if c.Stamp.Token.IsZero() || c.Stamp.Seq == 0 || c.OpID != "" && fencing.ValidateOpID(c.OpID) != nil {
		conn = o.bare
		ctx = metadata.AppendToOutgoingContext(ctx, "fence-stamp", c.Stamp.String())
		if c.OpID != "" {
			ctx = metadata.AppendToOutgoingContext(ctx, "fence-op", url.PathEscape(c.OpID))
		}
	} else {
		ctx = fencing.WithStamp(ctx, c.Stamp)
		if c.OpID != "" {
			ctx = grpcfence.WithOpID(ctx, c.OpID)
		}
	}
	if err := fencing.ValidateResource(c.Resource); err != nil {
		return "", err // a protobuf string could not carry some of them
	}
	var header metadata.MD
	reply := new(wrapperspb.StringValue)
	err := conn.Invoke(ctx, appendMethod, request(c.Resource, c.Entry, c.Outcome, fail), reply, grpc.Header(&header))
	if conn == o.bare {
		err = grpcfence.Error(err, c.Stamp)
	}
	if highest, recorded := grpcfence.Recorded(header); err == nil && recorded && c.OpID == "" && highest == c.Stamp {
		err = &fencing.StaleError{Resource: c.Resource, Presented: c.Stamp, Highest: highest}
	}
	return reply.GetValue(), err
}

func (o *owner) Raise(ctx context.Context, resource string, t fencing.Token) error {
	return grpcfence.Raise(ctx, o.conn, resource, t)
}

func (o *owner) Read(_ context.Context, resource string) ([]string, fencing.Stamp, error) {
	return o.entries(resource), o.door.Last(resource), nil
}

func (o *owner) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	return o.door.Override(ctx, resource, to, who, why)
}

func (o *owner) Overrides(_ context.Context, resource string) ([]fencing.Override, error) {
	return o.door.Overrides(resource), nil
}

func TestAGuardKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{
		New: func(t fencetest.TB) fencetest.Store {
			s := &store{site: site{lists: &lists{of: map[string][]string{}}}, path: filepath.Join(t.TempDir(), "door"), t: t}
			require.NoError(t, s.Restart(t.Context()))
			t.Cleanup(func() {
				s.stop()
				require.NoError(t, s.door.Close())
			})
			return s
		},
		OpIDs: true,
	})
}
