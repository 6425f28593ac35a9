package queue

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zktest"
)

// A create is under way when its caller leaves, and the session ends before its
// call has returned. The node, if there is one, goes with the session; that none
// is left nobody has said.
func TestLeavingACreateBehindIsNoProof(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Server.At(zktest.OpCreate, func(zktest.Request) { w.Server.Freeze(zktest.BothWays) })
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		p := w.line.Join(w.s)
		require.ErrorIs(t, p.Await(ctx, Events{}), context.DeadlineExceeded)
		left := make(chan *Departure)
		go func() { left <- p.Leave() }()
		go func() { _ = w.client.Close(w.ctx) }()
		d := <-left
		<-d.Done()
		require.False(t, d.Proven())
		w.Server.Heal()
	})
}

// The directory is somebody else's and has no DELETE for us. Retried in silence,
// the delete keeps its caller waiting for as long as the session lives.
func TestARefusedDeleteIsSaidAtOnceAndRetried(t *testing.T) {
	for claim, leave := range map[string]func(*Place) *Departure{"Leave": (*Place).Leave, "LeaveHere": (*Place).LeaveHere} {
		t.Run(claim, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create("/locks", nil))
				_, err := session.Call(w.ctx, w.s, func(c *zk.Conn) (string, error) {
					return c.Create(dir, nil, 0, zk.WorldACL(zk.PermAll&^zk.PermDelete))
				})
				require.NoError(t, err)
				p := w.line.Join(w.s)
				require.NoError(t, p.Await(w.ctx, Events{}))
				start := time.Now()
				d := leave(p)
				<-d.Refused()
				require.Less(t, time.Since(start), 100*time.Millisecond)
				var refused *RefusedError
				require.ErrorAs(t, d.Refusal(), &refused)
				require.Equal(t, p.Path(), refused.Node)
				require.ErrorIs(t, refused, zk.ErrNoAuth)
				require.ErrorContains(t, refused, "give this client DELETE on the directory")
				select {
				case <-d.Done():
					require.Fail(t, "done with its node there")
				default:
				}
				_, err = session.Call(w.ctx, w.s, func(c *zk.Conn) (*zk.Stat, error) {
					return c.SetACL(dir, zk.WorldACL(zk.PermAll), -1)
				})
				require.NoError(t, err)
				<-d.Done()
				require.True(t, d.Proven())
				require.Empty(t, w.Server.Children(dir))
			})
		})
	}
}

// A departure that nobody refuses has no refusal to tell of.
func TestALeaveThatIsNotRefusedSaysSo(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		p := w.line.Join(w.s)
		require.NoError(t, p.Await(w.ctx, Events{}))
		d := p.Leave()
		<-d.Done()
		require.NoError(t, d.Refusal())
	})
}
