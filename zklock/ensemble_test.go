package zklock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// quorum is three servers in virtual time, with the settings under which faults
// between servers were measured on real ones: T = 6 s, tick 2 s, syncLimit 5.
type quorum struct {
	*bubble.B
	ctx     context.Context
	servers []*zktest.Server
}

const quorumT = 6 * time.Second

func withQuorum(t *testing.T, seed uint64, fn func(t *testing.T, q *quorum)) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) {
		q := &quorum{B: b, ctx: context.Background(), servers: b.Ensemble.Servers()}
		// Sessions expire at whole ticks of the clock, and a leader hears from its
		// followers every half tick since it was elected: were both to begin at once,
		// what is left over between the two would always be the same.
		time.Sleep(time.Duration(rand.New(rand.NewPCG(seed, 0)).Int64N(int64(2 * time.Second))))
		b.Ensemble.Elect()
		q.leader()
		fn(b.T, q)
	}, bubble.WithEnsemble(3), bubble.WithTick(2*time.Second), bubble.WithSeed(seed), bubble.WithServer(zktest.WithSyncLimit(5)))
}

// dial returns a Client whose first connection is to on.
func (q *quorum) dial(host string, on *zktest.Server, others ...*zktest.Server) *zkconn.Client {
	q.T.Helper()
	addrs := []string{on.Addr()}
	for _, s := range others {
		s.From(host).Refuse(true)
		addrs = append(addrs, s.Addr())
	}
	c, err := zkconn.Dial(q.ctx, addrs, zkconn.WithDialer(q.Dialer(host)), zkconn.WithSessionTimeout(quorumT),
		zkconn.WithServerTick(2*time.Second), zkconn.WithIdentity(host))
	require.NoError(q.T, err)
	for _, s := range others {
		s.From(host).Refuse(false)
	}
	q.Cleanup(func() { _ = c.Close(q.ctx) })
	return c
}

func (q *quorum) mutex(c *zkconn.Client, opts ...zklock.Option) *zklock.Mutex {
	q.T.Helper()
	m, err := zklock.New(c, path, opts...)
	require.NoError(q.T, err)
	return m
}

// leader waits until there is one.
func (q *quorum) leader() *zktest.Server {
	q.T.Helper()
	ctx, cancel := context.WithTimeout(q.ctx, time.Minute)
	defer cancel()
	s, err := q.Ensemble.AwaitLeader(ctx)
	require.NoError(q.T, err)
	return s
}

// except returns the servers that are none of these.
func (q *quorum) except(not ...*zktest.Server) []*zktest.Server {
	var out []*zktest.Server
next:
	for _, s := range q.servers {
		for _, n := range not {
			if s == n {
				continue next
			}
		}
		out = append(out, s)
	}
	return out
}

// ending is what the end of a hold looked like from outside, at its very instant.
type ending struct {
	at    time.Time
	alive bool // its node stood, where a majority knows
	done  chan struct{}
}

// watch writes down the end of h. A successor exists from when a majority has
// agreed that the node is gone, whether or not anybody has heard.
func (q *quorum) watch(h *zklock.Hold) *ending {
	e := &ending{done: make(chan struct{})}
	context.AfterFunc(h.Context(), func() {
		e.at = time.Now()
		for _, s := range q.servers {
			e.alive = e.alive || s.Zxid() == q.newest() && s.Exists(h.Internal().Node)
		}
		close(e.done)
	})
	return e
}

// newest is the zxid of the server that has applied most.
func (q *quorum) newest() (zxid int64) {
	for _, s := range q.servers {
		zxid = max(zxid, s.Zxid())
	}
	return zxid
}

// busy has c read something every few milliseconds. A follower relays only every
// half tick that its clients are alive; who asks often has answers that the leader
// has not heard of.
func (q *quorum) busy(c *zkconn.Client) {
	q.T.Helper()
	s, err := c.Session(q.ctx)
	require.NoError(q.T, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.Context().Err() == nil {
			ctx, cancel := context.WithTimeout(s.Context(), quorumT/4)
			_, _ = zkconn.Call(ctx, s, func(c *zk.Conn) (bool, error) { // that it hangs is the fault
				there, _, err := c.Exists(path)
				return there, err
			})
			cancel()
			time.Sleep(20 * time.Millisecond)
		}
	}()
	q.Cleanup(func() { _ = c.Close(q.ctx); <-done })
}

// queue has m wait in line, and returns once its node stands.
func (q *quorum) queue(m *zklock.Mutex) *result {
	q.T.Helper()
	before := len(q.leader().Children(path))
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(q.ctx)
		r.at = time.Now()
	}()
	q.eventually(func() bool { return len(q.leader().Children(path)) > before }, "the contender's node")
	return r
}

func (q *quorum) eventually(cond func() bool, what string) {
	q.T.Helper()
	for end := time.Now().Add(2 * quorumT); !cond(); time.Sleep(5 * time.Millisecond) {
		require.True(q.T, time.Now().Before(end), "never: "+what)
	}
}

func (q *quorum) until(done <-chan struct{}, what string) {
	q.T.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		require.FailNow(q.T, "never: "+what)
	}
}
