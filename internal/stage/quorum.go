package stage

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// Quorum is three servers in virtual time, with the settings under which faults
// between servers were measured on real ones: T = 6 s, tick 2 s, syncLimit 5.
type Quorum struct {
	*bubble.B
	Ctx     context.Context
	Path    string // the lock's or the election's
	Servers []*zktest.Server
}

// QuorumTimeout is the timeout of a Quorum's sessions.
const QuorumTimeout = 6 * time.Second

// WithQuorum plays a case on three servers.
func WithQuorum(t *testing.T, seed uint64, play func(t *testing.T, q *Quorum)) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) {
		q := &Quorum{B: b, Ctx: b.T.Context(), Path: "/locks/report", Servers: b.Ensemble.Servers()}
		// Sessions expire at whole ticks of the clock, and a leader hears from its
		// followers every half tick since it was elected: were both to begin at once,
		// what is left over between the two would always be the same.
		<-time.After(time.Duration(rand.New(rand.NewPCG(seed, 0)).Int64N(int64(2 * time.Second))))
		b.Ensemble.Elect()
		q.Leader()
		play(b.T, q)
	}, bubble.WithEnsemble(3), bubble.WithTick(2*time.Second), bubble.WithSeed(seed), bubble.WithServer(zktest.WithSyncLimit(5)))
}

// InEveryPhase plays a case n times, with its fault at as many places between two
// proofs, two relays and two ticks: wait lets time go by up to it. At every other
// one the owner asks for something all the time.
func InEveryPhase(t *testing.T, n int, play func(t *testing.T, q *Quorum, wait func(owner *zkconn.Client))) {
	t.Helper()
	for i := range n {
		WithQuorum(t, uint64(i+1), func(t *testing.T, q *Quorum) {
			defer func() {
				if t.Failed() {
					t.Logf("phase %d of %d", i, n)
				}
			}()
			// Past the first seconds, in which the handshake still vouches; then
			// spread over two ticks, which are more than five proofs.
			play(t, q, func(owner *zkconn.Client) {
				if i%2 == 1 {
					q.busy(owner)
				}
				<-time.After(2*QuorumTimeout + time.Duration(i)*(4*time.Second)/time.Duration(n))
			})
		})
	}
}

// Dial returns a Client whose first connection is to on.
func (q *Quorum) Dial(host string, on *zktest.Server, others ...*zktest.Server) *zkconn.Client {
	q.T.Helper()
	addrs := []string{on.Addr()}
	for _, s := range others {
		s.From(host).Refuse(true)
		addrs = append(addrs, s.Addr())
	}
	c, err := zkconn.Dial(q.Ctx, addrs, zkconn.WithDialer(q.Dialer(host)), zkconn.WithSessionTimeout(QuorumTimeout),
		zkconn.WithServerTick(2*time.Second), zkconn.WithIdentity(host))
	require.NoError(q.T, err)
	for _, s := range others {
		s.From(host).Refuse(false)
	}
	q.Cleanup(func() { _ = c.Close(context.WithoutCancel(q.Ctx)) })
	return c
}

// Leader waits until there is one.
func (q *Quorum) Leader() *zktest.Server {
	q.T.Helper()
	ctx, cancel := context.WithTimeout(q.Ctx, time.Minute)
	defer cancel()
	s, err := q.Ensemble.AwaitLeader(ctx)
	require.NoError(q.T, err)
	return s
}

// Except returns the other servers.
func (q *Quorum) Except(not ...*zktest.Server) []*zktest.Server {
	return slices.DeleteFunc(slices.Clone(q.Servers), func(s *zktest.Server) bool { return slices.Contains(not, s) })
}

// Newest is the zxid of the server that has applied most.
func (q *Quorum) Newest() (zxid int64) {
	for _, s := range q.Servers {
		zxid = max(zxid, s.Zxid())
	}
	return zxid
}

// Ending is what the end of an ownership looked like from outside, at its very
// instant.
type Ending struct {
	At    time.Time
	Alive bool // the node stood, where a majority knows
	Done  chan struct{}
}

// Watch writes down the end of owned, which node stands for. A successor exists
// from when a majority has agreed that the node is gone, whether or not anybody
// has heard.
func (q *Quorum) Watch(owned context.Context, node string) *Ending {
	e := &Ending{Done: make(chan struct{})}
	context.AfterFunc(owned, func() {
		e.At = time.Now()
		for _, s := range q.Servers {
			e.Alive = e.Alive || s.Zxid() == q.Newest() && s.Exists(node)
		}
		close(e.Done)
	})
	return e
}

// busy has c read something every few milliseconds. A follower relays only every
// half tick that its clients are alive; who asks often has answers that the leader
// has not heard of.
func (q *Quorum) busy(c *zkconn.Client) {
	q.T.Helper()
	s, err := c.Session(q.Ctx)
	require.NoError(q.T, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.Context().Err() == nil {
			ctx, cancel := context.WithTimeout(s.Context(), QuorumTimeout/4)
			_, _ = zkconn.Call(ctx, s, func(c *zk.Conn) (bool, error) { // that it hangs is the fault
				there, _, err := c.Exists(q.Path)
				return there, err
			})
			cancel()
			<-time.After(20 * time.Millisecond)
		}
	}()
	q.Cleanup(func() { _ = c.Close(context.WithoutCancel(q.Ctx)); <-done })
}

// Eventually looks until cond holds; what says what is amiss if it never does.
func (q *Quorum) Eventually(cond func() bool, what string) {
	q.T.Helper()
	for end := time.Now().Add(2 * QuorumTimeout); !cond(); {
		require.True(q.T, time.Now().Before(end), "never: "+what)
		<-time.After(5 * time.Millisecond)
	}
}

// Until waits for done; what says what is amiss if that never comes.
func (q *Quorum) Until(done <-chan struct{}, what string) {
	q.T.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(q.T, "never: "+what)
	}
}
