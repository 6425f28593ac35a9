package session

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

func TestBlipsDoNotEndASession(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		for range 50 {
			b.server.Cut()
			time.Sleep(200 * time.Millisecond)
		}
		n, _ := s.Suspicion()
		require.NoError(b, s.Err())
		require.GreaterOrEqual(b, n, uint64(50), "each blip was noticed")
		time.Sleep(time.Second)
		require.False(b, s.Suspect())
		conns, _ := s.Connection()
		require.Equal(b, uint64(51), conns)
		b.close(c)
	})
}

// A server that hangs is left while trust remains, not after the zk.Conn's own
// two thirds of the timeout.
func TestAHungProofMovesTheClientInTime(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		time.Sleep(testTimeout)
		b.server.For(s.ID()).Freeze(zktest.ToClient)
		time.Sleep(testTimeout/8 + testTimeout/4 + testTimeout/100)
		b.server.For(s.ID()).Unfreeze()
		time.Sleep(testTimeout / 4)
		conns, _ := s.Connection()
		require.Equal(b, uint64(2), conns)
		require.NoError(b, s.Err())
		require.False(b, s.Suspect())
		b.close(c)
	})
}

// Connected is not well: until a proof sent on the new connection is answered,
// nobody knows what the ensemble thinks of us.
func TestAReconnectedSessionIsSuspectUntilItHasProof(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		time.Sleep(testTimeout)
		suspect := make(chan bool, 1)
		b.server.Cut()
		b.server.AtReply(zktest.OpMulti, func(zktest.Request) { suspect <- s.Suspect() })
		require.True(b, <-suspect)
		n, _ := s.Connection()
		require.Equal(b, uint64(2), n)
		time.Sleep(10 * time.Millisecond)
		require.False(b, s.Suspect())
		b.close(c)
	})
}

// A connection that stands and says nothing: Suspect comes with the age of the
// newest proof, before the connection is given up.
func TestASessionWithoutAFreshProofIsSuspect(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		time.Sleep(testTimeout)
		sent := make(chan time.Time, 1)
		b.server.At(zktest.OpMulti, func(zktest.Request) { sent <- time.Now() })
		at := <-sent
		time.Sleep(10 * time.Millisecond)
		b.server.Freeze(zktest.ToClient)
		time.Sleep(time.Until(at.Add(testTimeout/4 - 20*time.Millisecond)))
		require.False(b, s.Suspect())
		turns, _ := s.Suspicion()
		require.Zero(b, turns%2)
		time.Sleep(30 * time.Millisecond)
		require.True(b, s.Suspect())
		n, _ := s.Connection()
		require.Equal(b, uint64(1), n)
		now, _ := s.Suspicion()
		require.Equal(b, turns+1, now, "noticed without being asked")
		b.server.Unfreeze()
		b.close(c)
	})
}

// A paused server's kernel still accepts. Its clients rotate onto it, and must
// not wait there until their sessions are gone.
func TestAServerThatAcceptsAndNeverAnswersCostsASixthOfTheTimeout(t *testing.T) {
	virtually(t, func(b *bench) {
		hung, err := b.net.Listen("192.0.2.2:2181")
		require.NoError(b, err)
		defer hung.Close()
		c := b.dial("a", func(c *Config) { c.Servers = append(c.Servers, "192.0.2.2:2181") })
		s := b.session(c)
		defer s.Keep()()
		for range 4 {
			n, next := s.Connection()
			b.server.Cut()
			select {
			case <-next:
			case <-time.After(testTimeout/6 + testTimeout/20):
				b.Fatalf("connection %d has no successor", n)
			}
			time.Sleep(testTimeout)
		}
		require.NoError(b, s.Err())
		b.close(c)
	})
}

func TestAMachineThatSleptIsSuspectUntilItHasProof(t *testing.T) {
	virtually(t, func(b *bench) {
		var asleep atomic.Int64
		c := b.dial("a", func(c *Config) {
			c.slept = func(time.Time) time.Duration { return time.Duration(asleep.Load()) }
		})
		s := b.session(c)
		release := s.Keep()
		time.Sleep(testTimeout)
		require.False(b, s.Suspect())
		asleep.Store(int64(time.Hour))
		require.True(b, s.Suspect())
		require.LessOrEqual(b, s.Remaining(), time.Duration(0))
		time.Sleep(testTimeout / 4)
		require.False(b, s.Suspect())
		require.Greater(b, s.Remaining(), time.Duration(0))
		release()
		b.close(c)
	})
}
