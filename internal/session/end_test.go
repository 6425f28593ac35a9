package session

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// A holder must be told before the ensemble can give its node away, whatever
// the server does to it, and nobody ever says "expired" in most of these.
func TestAKeptSessionEndsBeforeItsNodesGo(t *testing.T) {
	faults := map[string]func(b *bench, s *Session){
		"Blackhole":       func(b *bench, s *Session) { b.server.For(s.ID()).Blackhole(true) },
		"Freeze":          func(b *bench, s *Session) { b.server.For(s.ID()).Freeze(zktest.BothWays) },
		"FreezeToServer":  func(b *bench, s *Session) { b.server.For(s.ID()).Freeze(zktest.ToServer) },
		"FreezeToClient":  func(b *bench, s *Session) { b.server.For(s.ID()).Freeze(zktest.ToClient) },
		"Refuse":          func(b *bench, s *Session) { b.server.Refuse(true); b.server.For(s.ID()).Cut() },
		"HalfHandshake":   func(b *bench, s *Session) { b.server.HalfHandshake(true); b.server.For(s.ID()).Cut() },
		"ZxidAhead":       func(b *bench, s *Session) { b.server.ZxidAhead(true); b.server.Cut() },
		"Partition":       func(b *bench, s *Session) { b.net.Partition("a", "192.0.2.1") },
		"PartitionOneWay": func(b *bench, s *Session) { b.net.PartitionOneWay("a", "192.0.2.1") },
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				c := b.dial("a")
				s := b.session(c)
				release := s.Keep()
				defer release()
				node, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
					return z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				})
				require.NoError(b, err)
				time.Sleep(testTimeout + 123*time.Millisecond)
				require.NoError(b, s.Err())

				fault(b, s)
				b.lostWithin(s, testTimeout, TrustRanOut)
				require.True(b, b.server.Exists(node), "the node went before the holder was told")
				require.LessOrEqual(b, s.Remaining(), time.Duration(0))
				b.server.Heal()
				b.net.HealAll()
				time.Sleep(2 * testTimeout)
				require.False(b, b.server.Exists(node))
				b.close(c)
			})
		})
	}
}

func TestASessionNobodyKeepsEndsAfterATimeoutDisconnected(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		b.server.Refuse(true)
		b.server.Cut()
		took := b.lostWithin(s, 2*testTimeout, TrustRanOut)
		require.InDelta(b, testTimeout.Seconds(), took.Seconds(), 0.1)
		b.server.Heal()
		next := b.session(c)
		require.NotEqual(b, s.ID(), next.ID())
		b.close(c)
	})
}

func TestEndsThatTheServerBringsAbout(t *testing.T) {
	t.Run("Expired", func(t *testing.T) {
		virtually(t, func(b *bench) {
			c := b.dial("a")
			s := b.session(c)
			require.NoError(b, b.server.Expire(s.ID()))
			b.lostWithin(s, time.Second, Expired)
			require.NotEqual(b, s.ID(), b.session(c).ID())
			b.close(c)
		})
	})
	t.Run("ReplacedWithoutAWord", func(t *testing.T) {
		virtually(t, func(b *bench) {
			c := b.dial("a")
			s := b.session(c)
			b.server.NewSession(1)
			b.server.Cut()
			b.lostWithin(s, time.Second, Replaced)
			b.close(c)
			time.Sleep(time.Second)
			require.LessOrEqual(b, len(b.server.Sessions()), 1, "the session handed out in its place was not left behind")
		})
	})
}

// What was queued on a session while it was disconnected must not run on the
// next one: a zk.Conn alone would do just that, with a nil error.
func TestAQueuedRequestNeverRunsOnTheNextSession(t *testing.T) {
	for name, fault := range map[string]func(b *bench, s *Session){
		"Expired":  func(b *bench, s *Session) { require.NoError(b, b.server.Expire(s.ID())) },
		"Replaced": func(b *bench, s *Session) { b.server.NewSession(1) },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				c := b.dial("a")
				s := b.session(c)
				b.server.Refuse(true)
				b.server.Cut()
				time.Sleep(100 * time.Millisecond)
				p := Start(s, func(z *zk.Conn) (string, error) {
					return z.Create("/late", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				})
				time.Sleep(100 * time.Millisecond)
				fault(b, s)
				b.server.Refuse(false)
				<-s.Context().Done()
				<-p.Done()
				_, err := p.Result()
				require.Error(b, err)
				b.session(c)
				time.Sleep(2 * testTimeout)
				require.False(b, b.server.Exists("/late"))
				require.Zero(b, b.server.Count(zktest.OpCreate))
				b.close(c)
			})
		})
	}
}

// The leader stalls for the whole timeout and nothing ever expires:
// the client that believes itself lost must not keep its node alive.
func TestASessionLostByOurClockIsEndedAtTheServer(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
			return z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		})
		require.NoError(b, err)
		b.server.Stall(true)
		b.lostWithin(s, testTimeout, TrustRanOut)
		time.Sleep(testTimeout / 4)
		b.server.Stall(false)
		time.Sleep(testTimeout / 4)
		require.False(b, b.server.Exists("/held"), "the node outlives its holder")
		b.close(c)
	})
}
