package zklock_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// scene is where one fault is played: in virtual time on the in-memory server,
// or in real time on a real one behind a proxy of its own. What a case may ask of
// it is what both can do; the fault words of zktest.Faults mean the same in both.
type scene struct {
	*zktest.Faults
	T       *testing.T
	ctx     context.Context
	path    string        // the lock's, used by nobody else
	timeout time.Duration // of sessions, as granted
	real    bool

	servers  []string
	dialer   func(host string) zk.Dialer // nil: TCP
	expire   func(session int64) error
	operator operator
	net      *zktest.Network // nil on a real server
}

// operator does by hand what no client of ours would, past every fault.
type operator interface {
	Children(path string) []string
	Exists(path string) bool
	Create(path string, data []byte) error
	Delete(path string) error // recursively
}

// realCopies is how often a case runs side by side on the real server, each on
// a path and behind a proxy of its own: what one of them disturbs, another has
// in flight.
const realCopies = 4

// everywhere plays a case in virtual time and, where ZKFENCE_ZK names a real
// server, in real time on it. There the cases of all tests run side by side, once
// the virtual ones are through: they mostly wait for sessions to time out.
func everywhere(t *testing.T, play func(s *scene)) {
	t.Helper()
	t.Run("virtual", func(t *testing.T) { virtually(t, play) })
	server := os.Getenv("ZKFENCE_ZK")
	if server != "" {
		t.Parallel()
	}
	t.Run("real", func(t *testing.T) {
		if server == "" {
			t.Skip("SKIPPED: not run against a real server; set ZKFENCE_ZK=host:port to do so")
		}
		for i := range realCopies {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				really(t, server, play)
			})
		}
	})
}

func virtually(t *testing.T, play func(s *scene), opts ...bubble.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) {
		play(&scene{
			Faults: b.Server.Faults, T: b.T, ctx: b.T.Context(), path: "/locks/report", timeout: 6 * time.Second,
			servers: b.Servers(), dialer: func(host string) zk.Dialer { return b.Dialer(host) },
			expire: b.Server.Expire, operator: b.Server, net: b.Net,
		})
	}, append([]bubble.Option{
		bubble.WithTick(200 * time.Millisecond),
		bubble.WithServer(zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute)), // as the real one
	}, opts...)...)
}

func really(t *testing.T, server string, play func(s *scene)) {
	p := zktest.NewProxy(t, server)
	hand := newHand(t, server)
	s := &scene{
		Faults: p.Faults, T: t, ctx: t.Context(), path: "/zkfence-test/" + rand.Text(), timeout: 4 * time.Second, real: true,
		servers: []string{p.Addr()}, expire: p.Expire, operator: hand,
	}
	t.Cleanup(func() { _ = hand.Delete(s.path) }) // some cases have deleted it
	play(s)
}

// dial returns a Client; host tells clients apart in virtual time.
func (s *scene) dial(host string, opts ...zkconn.Option) *zkconn.Client {
	s.T.Helper()
	all := []zkconn.Option{
		zkconn.WithSessionTimeout(s.timeout), zkconn.WithServerTick(200 * time.Millisecond), zkconn.WithIdentity(host),
	}
	if s.dialer != nil {
		all = append(all, zkconn.WithDialer(s.dialer(host)))
	}
	c, err := zkconn.Dial(s.ctx, s.servers, append(all, opts...)...)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = c.Close(context.WithoutCancel(s.ctx)) }) // again, where the case has closed it
	return c
}

func (s *scene) mutex(c *zkconn.Client, opts ...zklock.Option) *zklock.Mutex {
	s.T.Helper()
	m, err := zklock.New(c, s.path, opts...)
	require.NoError(s.T, err)
	return m
}

// lock locks, or fails the test if that takes longer than within.
func (s *scene) lock(m *zklock.Mutex, within time.Duration) *zklock.Hold {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, within)
	defer cancel()
	h, err := m.Lock(ctx)
	require.NoError(s.T, err)
	return h
}

// locking calls Lock on a goroutine and returns once its node stands, or Lock
// has returned.
func (s *scene) locking(ctx context.Context, m *zklock.Mutex) *result {
	s.T.Helper()
	before := len(s.operator.Children(s.path))
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(ctx)
		r.at = time.Now()
	}()
	s.eventually(s.timeout, func() bool { return r.returned() || len(s.operator.Children(s.path)) > before }, "the contender's node")
	return r
}

// granted waits for a call to Lock to return its hold.
func (s *scene) granted(r *result, within time.Duration) *zklock.Hold {
	s.T.Helper()
	s.ended(r.done, within, "Lock has not returned")
	require.NoError(s.T, r.err)
	return r.hold
}

// lost waits for the end of a hold and returns why.
func (s *scene) lost(h *zklock.Hold, within time.Duration) *zklock.LostError {
	s.T.Helper()
	s.ended(h.Context().Done(), within, "the hold has not ended")
	var lost *zklock.LostError
	require.ErrorAs(s.T, context.Cause(h.Context()), &lost)
	require.Equal(s.T, h.Token(), lost.Token)
	return lost
}

func (s *scene) ended(done <-chan struct{}, within time.Duration, what string) {
	s.T.Helper()
	select {
	case <-done:
	case <-time.After(within):
		require.FailNow(s.T, what, "after %v", within)
	}
}

// eventually looks until cond holds. The bound is a failure, never an order: what
// must not happen is asked for after something else has proven that it could have.
func (s *scene) eventually(within time.Duration, cond func() bool, what string) {
	s.T.Helper()
	for end := time.Now().Add(within); !cond(); {
		if time.Now().After(end) {
			require.FailNow(s.T, "never: "+what, "within %v", within)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// pass lets d go by, for cases in which time itself is the fault.
func (s *scene) pass(d time.Duration) { <-time.After(d) }

func (s *scene) session(c *zkconn.Client) int64 {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.ctx, 2*s.timeout)
	defer cancel()
	session, err := c.Session(ctx)
	require.NoError(s.T, err)
	return session.ID()
}

// of is the connections of one client's present session.
func (s *scene) of(c *zkconn.Client) *zktest.Target { return s.For(s.session(c)) }

// below is the same scene on a path of its own within this one's.
func (s *scene) below(name string) *scene {
	sub := *s
	sub.path = s.path + "/" + name
	return &sub
}

func (s *scene) nodes() []string { return s.operator.Children(s.path) }

// hand is an operator at a real server, on a connection of its own.
type hand struct {
	t    *testing.T
	conn *zk.Conn
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func newHand(t *testing.T, server string) *hand {
	conn, events, err := zk.Connect([]string{server}, 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(silent{}))
	require.NoError(t, err)
	t.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	return &hand{t, conn}
}

func (h *hand) Children(path string) []string {
	names, _, err := h.conn.Children(path)
	if !errors.Is(err, zk.ErrNoNode) {
		require.NoError(h.t, err)
	}
	return names
}

func (h *hand) Exists(path string) bool {
	ok, _, err := h.conn.Exists(path)
	require.NoError(h.t, err)
	return ok
}

func (h *hand) Create(path string, data []byte) error {
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			if _, err := h.conn.Create(path[:i], nil, 0, zk.WorldACL(zk.PermAll)); err != nil && !errors.Is(err, zk.ErrNodeExists) {
				return err
			}
		}
	}
	_, err := h.conn.Create(path, data, 0, zk.WorldACL(zk.PermAll))
	return err
}

func (h *hand) Delete(path string) error {
	for _, name := range h.Children(path) {
		if err := h.Delete(strings.TrimSuffix(path, "/") + "/" + name); err != nil && !errors.Is(err, zk.ErrNoNode) {
			return err
		}
	}
	return h.conn.Delete(path, -1)
}
