package queue

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zktest/bubble"
)

const (
	dir = "/locks/x"
	T   = 10 * time.Second
)

type world struct {
	*bubble.B
	ctx    context.Context
	client *session.Client
	s      *session.Session
	line   Line
}

// run gives fn a bubble with one client on host "a" and its session.
func run(t *testing.T, fn func(t *testing.T, w *world), opts ...bubble.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) {
		w := &world{B: b, ctx: context.Background(), line: Line{Dir: dir, Data: []byte("me"), ACL: zk.WorldACL(zk.PermAll), Log: zap.NewNop()}}
		w.client, w.s = w.dial("a")
		fn(b.T, w)
	}, opts...)
}

func (w *world) dial(host string) (*session.Client, *session.Session) {
	c, err := session.Dial(w.ctx, session.Config{Servers: w.Servers(), Timeout: T, Tick: 100 * time.Millisecond, Dialer: w.Dialer(host)})
	require.NoError(w.T, err)
	w.Cleanup(func() { _ = c.Close(w.ctx) })
	s, err := c.Session(w.ctx)
	require.NoError(w.T, err)
	return c, s
}

func (w *world) settle() {
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
}

// alone is the one node in the directory, which must be this place's and its
// session's.
func (w *world) alone(p *Place) {
	w.T.Helper()
	w.settle()
	children := w.Server.Children(dir)
	require.Len(w.T, children, 1)
	require.Equal(w.T, dir+"/"+children[0], p.Path())
	_, st, err := w.Server.Get(p.Path())
	require.NoError(w.T, err)
	require.Equal(w.T, w.s.ID(), st.EphemeralOwner)
	require.Equal(w.T, st.Czxid, p.Czxid())
}

// plant creates a node on this client's session that looks like one of guid's.
func (w *world) plant(guid string) string {
	w.T.Helper()
	path, err := session.Call(w.ctx, w.s, func(c *zk.Conn) (string, error) {
		return c.Create(w.line.pathOf(prefix(guid)), nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
	})
	require.NoError(w.T, err)
	return path
}
