package stage

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// Scene is where one fault is played: in virtual time on the in-memory server,
// or in real time on a real one behind a proxy of its own. What a case may ask of
// it is what both can do; the fault words of zktest.Faults mean the same in both.
type Scene struct {
	*zktest.Faults
	T       *testing.T
	Ctx     context.Context
	Path    string        // the lock's or the election's, used by nobody else
	Timeout time.Duration // of sessions, as granted
	Real    bool          // time passes by itself

	Servers  []string
	Dialer   func(host string) zk.Dialer // nil: TCP
	Expire   func(session int64) error
	Operator Operator
	Net      *zktest.Network // nil outside of virtual time
}

// RealCopies is how often a case runs side by side on the real server, each on
// a path and behind a proxy of its own: what one of them disturbs, another has
// in flight.
const RealCopies = 4

// Everywhere plays a case in virtual time and, where ZKFENCE_ZK names a real
// server, in real time on it. There the cases of all tests run side by side, once
// the virtual ones are through: they mostly wait for sessions to time out.
func Everywhere(t *testing.T, play func(s *Scene)) {
	t.Helper()
	t.Run("virtual", func(t *testing.T) { Virtually(t, play) })
	server := os.Getenv("ZKFENCE_ZK")
	if server != "" {
		t.Parallel()
	}
	t.Run("real", func(t *testing.T) {
		if server == "" {
			t.Skip("SKIPPED: not run against a real server; set ZKFENCE_ZK=host:port to do so")
		}
		for i := range RealCopies {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				Really(t, server, play)
			})
		}
	})
}

// Virtually plays a case in virtual time.
func Virtually(t *testing.T, play func(s *Scene), opts ...bubble.Option) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) {
		play(&Scene{
			Faults: b.Server.Faults, T: b.T, Ctx: b.T.Context(), Path: "/locks/report", Timeout: 6 * time.Second,
			Servers: b.Servers(), Dialer: func(host string) zk.Dialer { return b.Dialer(host) },
			Expire: b.Server.Expire, Operator: b.Server, Net: b.Net,
		})
	}, append([]bubble.Option{
		bubble.WithTick(200 * time.Millisecond),
		bubble.WithServer(zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute)), // as the real one
	}, opts...)...)
}

// Really plays a case in real time on the server at that address.
func Really(t *testing.T, server string, play func(s *Scene)) {
	p := zktest.NewProxy(t, server)
	hand := NewOperator(t, server)
	s := &Scene{
		Faults: p.Faults, T: t, Ctx: t.Context(), Path: "/zkfence-test/" + rand.Text(), Timeout: 4 * time.Second, Real: true,
		Servers: []string{p.Addr()}, Expire: p.Expire, Operator: hand,
	}
	t.Cleanup(func() { _ = hand.Delete(s.Path) }) // some cases have deleted it
	play(s)
}

// Dial returns a Client; host tells clients apart in virtual time.
func (s *Scene) Dial(host string, opts ...zkconn.Option) *zkconn.Client {
	s.T.Helper()
	all := []zkconn.Option{
		zkconn.WithSessionTimeout(s.Timeout), zkconn.WithServerTick(200 * time.Millisecond), zkconn.WithIdentity(host),
	}
	if s.Dialer != nil {
		all = append(all, zkconn.WithDialer(s.Dialer(host)))
	}
	c, err := zkconn.Dial(s.Ctx, s.Servers, append(all, opts...)...)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = c.Close(context.WithoutCancel(s.Ctx)) }) // again, where the case has closed it
	return c
}

// Ended waits for done; what says what is amiss if that takes longer than within.
func (s *Scene) Ended(done <-chan struct{}, within time.Duration, what string) {
	s.T.Helper()
	select {
	case <-done:
	case <-time.After(within):
		require.FailNow(s.T, what, "after %v", within)
	}
}

// Eventually looks until cond holds. The bound is a failure, never an order: what
// must not happen is asked for after something else has proven that it could have.
func (s *Scene) Eventually(within time.Duration, cond func() bool, what string) {
	s.T.Helper()
	for end := time.Now().Add(within); !cond(); {
		if time.Now().After(end) {
			require.FailNow(s.T, "never: "+what, "within %v", within)
		}
		<-time.After(5 * time.Millisecond)
	}
}

// Pass lets d go by, for cases in which time itself is the fault.
func (s *Scene) Pass(d time.Duration) { <-time.After(d) }

// Session is the id of a client's present session.
func (s *Scene) Session(c *zkconn.Client) int64 {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, 2*s.Timeout)
	defer cancel()
	session, err := c.Session(ctx)
	require.NoError(s.T, err)
	return session.ID()
}

// Of is the connections of one client's present session.
func (s *Scene) Of(c *zkconn.Client) *zktest.Target { return s.For(s.Session(c)) }

// Below is the same scene on a path of its own within this one's.
func (s *Scene) Below(name string) *Scene {
	sub := *s
	sub.Path = s.Path + "/" + name
	return &sub
}

// Nodes are the children of the path.
func (s *Scene) Nodes() []string { return s.Operator.Children(s.Path) }

// OverTCP plays a case in real time over TCP: on the in-memory server and, where
// ZKFENCE_ZK names one, on a real one behind a proxy. It is for what virtual
// time cannot show: other processes, memory, and two things in one instant.
func OverTCP(t *testing.T, play func(s *Scene)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		server := zktest.New(t, zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute))
		play(&Scene{
			Faults: server.Faults, T: t, Ctx: t.Context(), Path: "/locks/report", Timeout: 4 * time.Second, Real: true,
			Servers: []string{server.Addr()}, Expire: server.Expire, Operator: server,
		})
	})
	t.Run("real", func(t *testing.T) {
		server := os.Getenv("ZKFENCE_ZK")
		if server == "" {
			t.Skip("SKIPPED: not run against a real server; set ZKFENCE_ZK=host:port to do so")
		}
		Really(t, server, play)
	})
}
