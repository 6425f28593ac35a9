package zklock_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

const (
	path = "/locks/report"
	T    = 10 * time.Second
)

// world is what these tests need of a bubble every time.
type world struct {
	*bubble.B
	ctx context.Context
}

// run gives fn the bubble's own test: a failure on the outer one would not end it.
func run(t *testing.T, fn func(t *testing.T, w *world), opts ...bubble.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) { fn(b.T, &world{B: b, ctx: context.Background()}) }, opts...)
}

// dial returns a Client on a host of its own, with a session of T.
func (w *world) dial(host string, opts ...zkconn.Option) *zkconn.Client {
	w.T.Helper()
	c, err := zkconn.Dial(w.ctx, w.Servers(), append([]zkconn.Option{
		zkconn.WithDialer(w.Dialer(host)), zkconn.WithSessionTimeout(T), zkconn.WithServerTick(100 * time.Millisecond),
		zkconn.WithIdentity(host),
	}, opts...)...)
	require.NoError(w.T, err)
	w.Cleanup(func() { _ = c.Close(w.ctx) })
	return c
}

func (w *world) mutex(c *zkconn.Client, opts ...zklock.Option) *zklock.Mutex {
	w.T.Helper()
	m, err := zklock.New(c, path, opts...)
	require.NoError(w.T, err)
	return m
}

func (w *world) lock(m *zklock.Mutex) *zklock.Hold {
	w.T.Helper()
	h, err := m.Lock(w.ctx)
	require.NoError(w.T, err)
	return h
}

// result is what a call to Lock that runs by itself came to.
type result struct {
	hold *zklock.Hold
	err  error
	at   time.Time
	done chan struct{}
}

func (r *result) returned() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// start calls Lock and returns once it waits behind somebody, or has returned.
func (w *world) start(ctx context.Context, m *zklock.Mutex) *result {
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(ctx)
		r.at = time.Now()
	}()
	w.settle()
	return r
}

// settle lets everything happen that is under way: latencies are far below it.
func (w *world) settle() { w.pass(100 * time.Millisecond) }

// pass lets time pass and what it brings come to rest, so that a test may look
// at what hooks have written.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// contenders is how many nodes stand in the lock's directory.
func (w *world) contenders() int { return len(w.Server.Children(path)) }

// session is the session id of the client on host.
func (w *world) session(c *zkconn.Client) int64 {
	w.T.Helper()
	s, err := c.Session(w.ctx)
	require.NoError(w.T, err)
	return s.ID()
}

// requests are the ops that host has sent since the last ResetCounts, without
// pings and in the order they came.
func (w *world) requests(since int, host string) string {
	var ops []string
	for _, r := range w.Server.From(host).Requests() {
		if r.N > since && r.Op != zktest.OpPing {
			ops = append(ops, r.Op.String())
		}
	}
	return strings.Join(ops, " ")
}

// mark is the number of the newest request.
func (w *world) mark() int {
	all := w.Server.Requests()
	if len(all) == 0 {
		return 0
	}
	return all[len(all)-1].N
}

// lock2 locks another path.
func (w *world) lock2(c *zkconn.Client, path string, opts ...zklock.Option) *zklock.Hold {
	w.T.Helper()
	m, err := zklock.New(c, path, opts...)
	require.NoError(w.T, err)
	return w.lock(m)
}
