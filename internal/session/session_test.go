package session

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testTimeout = 6 * time.Second
	testTick    = 400 * time.Millisecond
)

// bench is one server on a network of virtual time, and who connects to it.
type bench struct {
	*testing.T
	net    *zktest.Network
	server *zktest.Server
}

func virtually(t *testing.T, fn func(b *bench)) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) { fn(&bench{T: b.T, net: b.Net, server: b.Server}) }, bubble.WithTick(testTick))
}

func (b *bench) dial(host string, change ...func(*Config)) *Client {
	cfg := Config{Servers: []string{"10.0.0.1:2181"}, Timeout: testTimeout, Tick: testTick, Dialer: b.net.Dialer(host), Identity: host}
	for _, f := range change {
		f(&cfg)
	}
	c, err := Dial(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(context.WithoutCancel(b.Context())) }) // again, where the test has got that far
	return c
}

func (b *bench) session(c *Client) *Session {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	s, err := c.Session(ctx)
	require.NoError(b, err)
	return s
}

func (b *bench) close(c *Client) {
	require.NoError(b, c.Close(context.WithoutCancel(b.Context())))
}

func (b *bench) lostWithin(s *Session, d time.Duration, why Reason) time.Duration {
	b.Helper()
	begin := time.Now()
	select {
	case <-s.Context().Done():
	case <-time.After(d):
		b.Fatalf("the session has not ended after %v", d)
	}
	var lost *LostError
	require.ErrorAs(b, context.Cause(s.Context()), &lost)
	require.Equal(b, why, lost.Reason)
	return time.Since(begin)
}

func (b *bench) fired(w *Watch) {
	b.Helper()
	select {
	case <-w.Fired():
	case <-time.After(time.Minute):
		b.Fatal("the watch has not fired")
	}
}

func TestASessionIsGrantedNotAskedFor(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a", func(c *Config) { c.Timeout = 2 * time.Minute })
		require.Equal(b, 20*testTick, b.session(c).Timeout())
		b.close(c)
		require.Empty(b, b.server.Sessions(), "a closed client's session is gone at once")
	})
}

func TestOnlyAKeptSessionProvesItself(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		time.Sleep(time.Minute)
		require.Zero(b, b.server.Count(zktest.OpMulti), "a session that nobody keeps costs the quorum nothing")
		require.LessOrEqual(b, s.Remaining(), time.Duration(0), "and is trusted for nothing")
		require.NoError(b, s.Err())

		release := s.Keep()
		time.Sleep(testTimeout + testTimeout/16)
		n := b.server.Count(zktest.OpMulti)
		require.InDelta(b, 8, n, 2, "eight proofs per timeout")
		require.Greater(b, s.Remaining(), testTimeout/2)
		require.False(b, s.Suspect())
		release()
		release()
		before := b.server.Count(zktest.OpMulti)
		time.Sleep(time.Minute)
		require.Equal(b, before, b.server.Count(zktest.OpMulti))
		b.close(c)
	})
}

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
		"Partition":       func(b *bench, s *Session) { b.net.Partition("a", "10.0.0.1") },
		"PartitionOneWay": func(b *bench, s *Session) { b.net.PartitionOneWay("a", "10.0.0.1") },
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
		hung, err := b.net.Listen("10.0.0.2:2181")
		require.NoError(b, err)
		defer hung.Close()
		c := b.dial("a", func(c *Config) { c.Servers = append(c.Servers, "10.0.0.2:2181") })
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

func TestCloseIsPromptAndSaysWhetherTheServerKnows(t *testing.T) {
	tests := map[string]struct {
		fault  func(b *bench, s *Session)
		told   bool
		within time.Duration
	}{
		"Healthy":     {func(*bench, *Session) {}, true, 50 * time.Millisecond},
		"JustCut":     {func(b *bench, _ *Session) { b.server.Cut() }, true, 200 * time.Millisecond},
		"Refused":     {func(b *bench, _ *Session) { b.server.Refuse(true); b.server.Cut() }, false, testTimeout / 2},
		"Frozen":      {func(b *bench, s *Session) { b.server.Freeze(zktest.BothWays) }, false, testTimeout},
		"Partitioned": {func(b *bench, s *Session) { b.net.Partition("a", "10.0.0.1") }, false, testTimeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				c := b.dial("a")
				s := b.session(c)
				tt.fault(b, s)
				begin := time.Now()
				err := c.Close(context.WithoutCancel(b.Context()))
				require.LessOrEqual(b, time.Since(begin), tt.within)
				require.Equal(b, tt.told, err == nil, "%v", err)
				require.Equal(b, tt.told, len(b.server.Sessions()) == 0)
				require.NoError(b, c.Close(b.Context()), "closing again")
				_, err = c.Session(b.Context())
				require.ErrorIs(b, err, ErrClosed)
				cause := context.Cause(s.Context())
				require.ErrorIs(b, cause, ErrLost)
				require.ErrorIs(b, cause, ErrClosed)
			})
		})
	}
}

// A zk.Conn that is closed between two connections ends without taking its own
// closing request, and Close waits a second for it: enough for the goodbye of a
// process that is told to stop to be cut short. Virtual time has no "between", so
// this runs in real time; of 400 rounds without the cure, several took a second.
func TestCloseNeverFallsBetweenTwoConnections(t *testing.T) {
	server := zktest.New(t)
	for i := range 400 {
		c, err := Dial(t.Context(), Config{Servers: []string{server.Addr()}, Timeout: testTimeout, Tick: testTick})
		require.NoError(t, err)
		server.Cut()
		for range i * 50 { // a little later each time
			runtime.Gosched()
		}
		begin := time.Now()
		require.NoError(t, c.Close(t.Context()))
		require.Less(t, time.Since(begin), 900*time.Millisecond, "round %d", i)
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

func TestClaimsAreToldBeforeTheServerIs(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
			return z.Create("/held", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		})
		require.NoError(b, err)
		var told []Reason
		var existed []bool
		claim, ok := s.Claim("/held", func(r Reason) {
			told = append(told, r)
			existed = append(existed, b.server.Exists("/held"))
		})
		require.True(b, ok)
		b.close(c)
		require.Equal(b, []Reason{Closed}, told)
		require.Equal(b, []bool{true}, existed)
		claim.Release()
		_, ok = s.Claim("/held", func(Reason) {})
		require.False(b, ok, "an ended session is claimed by nobody")
	})
}

func TestAProofSaysWhichHeldNodeIsGone(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		gone := make(chan int, 40)
		for i := range 40 {
			node, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) {
				return z.Create("/held-", nil, zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
			})
			require.NoError(b, err)
			claim, ok := s.Claim(node, func(Reason) { gone <- i })
			require.True(b, ok)
			defer claim.Release()
		}
		nodes := b.server.Children("/")
		for _, n := range nodes {
			if n == "held-0000000007" || n == "held-0000000033" {
				require.NoError(b, b.server.Delete("/"+n))
			}
		}
		time.Sleep(testTimeout)
		require.Len(b, gone, 2, "40 nodes take three proofs, eight come in a timeout")
		require.ElementsMatch(b, []int{7, 33}, []int{<-gone, <-gone})
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

func TestACallReturnsWithItsContext(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		b.server.Refuse(true)
		b.server.Cut()
		time.Sleep(50 * time.Millisecond)
		cause := errors.New("no more patience")
		ctx, cancel := context.WithTimeoutCause(b.Context(), 300*time.Millisecond, cause)
		defer cancel()
		begin := time.Now()
		_, err := CallForeign(ctx, s, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
		require.ErrorIs(b, err, cause)
		require.Equal(b, 300*time.Millisecond, time.Since(begin))

		_, err = CallForeign(b.Context(), s, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
		require.ErrorIs(b, err, ErrLost, "a call outlasts an outage or ends with the session")
		b.server.Heal()
		b.close(c)
	})
}

func TestAPanicInACallIsTheCallers(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		require.PanicsWithValue(b, "boom", func() {
			_, _ = CallForeign(b.Context(), b.session(c), func(*zk.Conn) (int, error) { panic("boom") })
		})
		b.close(c)
	})
}

// Credentials come before anything else on each connection, or a recovery read
// is refused and a lost create is taken for none.
func TestCredentialsComeFirstOnEachConnection(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a", func(c *Config) { c.Auth = []Auth{{"digest", []byte("a:b")}} })
		s := b.session(c)
		_, err := Call(b.Context(), s, func(z *zk.Conn) (string, error) { return z.Create("/mine", []byte("x"), 0, c.ACL()) })
		require.NoError(b, err)
		for range 20 {
			b.server.Cut()
			_, err := Call(b.Context(), s, func(z *zk.Conn) ([]byte, error) { d, _, err := z.Get("/mine"); return d, err })
			if OutcomeOf(err) != OutcomeUnknown {
				require.NoError(b, err)
			}
		}
		require.NoError(b, s.Err())
		b.close(c)
	})
}

func TestDialSaysWhatWasTried(t *testing.T) {
	virtually(t, func(b *bench) {
		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := Dial(ctx, Config{Servers: []string{"10.0.0.9:2181", "10.0.0.8:2181"}, Dialer: b.net.Dialer("a"), Timeout: testTimeout, Tick: testTick})
		require.ErrorIs(b, err, context.DeadlineExceeded)
		require.ErrorContains(b, err, "10.0.0.9:2181: ")
		require.ErrorContains(b, err, "10.0.0.8:2181: ")
		require.LessOrEqual(b, time.Since(begin), 1300*time.Millisecond)
	})
	for name, fault := range map[string]func(*bench){
		"Blackhole":     func(b *bench) { b.server.Blackhole(true) },
		"HalfHandshake": func(b *bench) { b.server.HalfHandshake(true) },
		"Partition":     func(b *bench) { b.net.Partition("a", "10.0.0.1") },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				fault(b)
				ctx, cancel := context.WithTimeout(b.Context(), time.Second)
				defer cancel()
				begin := time.Now()
				_, err := Dial(ctx, Config{Servers: []string{"10.0.0.1:2181"}, Dialer: b.net.Dialer("a"), Timeout: testTimeout, Tick: testTick})
				require.ErrorIs(b, err, context.DeadlineExceeded)
				require.LessOrEqual(b, time.Since(begin), 1300*time.Millisecond)
			})
		})
	}
}

func TestWatchesAreSharedAndEndWithTheirNode(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		_, err := s.Watch(b.Context(), "/none")
		require.ErrorIs(b, err, zk.ErrNoNode)
		before := b.server.Count(zktest.OpGetData)
		first, err := s.Watch(b.Context(), "/n")
		require.NoError(b, err)
		for range 1000 {
			w, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, first.Fired(), w.Fired())
		}
		require.Equal(b, 1, b.server.Count(zktest.OpGetData)-before)
		require.Equal(b, 1, b.server.Watches())

		_, reconnected := s.Connection()
		b.server.Cut()
		<-reconnected
		again, err := s.Watch(b.Context(), "/n")
		require.NoError(b, err)
		require.NoError(b, b.server.Delete("/n"))
		b.fired(first)
		b.fired(again)
		require.True(b, first.Deleted())
		require.True(b, again.Deleted())
		require.Empty(b, s.watches)
		b.close(c)
	})
}

// The answer to a delete is lost: the debt is tried again on the very next
// connection, not after a pause.
func TestAFailedDebtIsTriedAgainOnReconnect(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		for range 4 { // the pause would grow
			b.server.DropRequest(zktest.OpDelete, 1)
			d := s.Owe(func(ctx context.Context) bool {
				_, err := Call(ctx, s, func(z *zk.Conn) (int, error) { return 0, z.Delete("/n", -1) })
				return OutcomeOf(err) != OutcomeUnknown
			})
			begin := time.Now()
			<-d.Done()
			require.Less(b, time.Since(begin), testTimeout/32)
		}
		require.False(b, b.server.Exists("/n"))
		b.close(c)
	})
}

func TestDebtsOutliveOutagesAndEndWithTheSession(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		b.server.Refuse(true)
		b.server.Cut()
		begin := time.Now()
		d := s.Owe(func(ctx context.Context) bool {
			_, err := Call(ctx, s, func(z *zk.Conn) (int, error) { return 0, z.Delete("/n", -1) })
			return err == nil
		})
		time.Sleep(time.Second)
		b.server.Heal()
		<-d.Done()
		require.False(b, b.server.Exists("/n"))
		require.Less(b, time.Since(begin), 2*time.Second)

		var tries atomic.Int32
		never := s.Owe(func(context.Context) bool { tries.Add(1); return false })
		time.Sleep(time.Minute)
		require.Less(b, tries.Load(), int32(20), "a debt that cannot be paid does not spin")
		b.close(c)
		<-never.Done()
		<-s.Owe(func(context.Context) bool { panic("the session has ended") }).Done()
	})
}
