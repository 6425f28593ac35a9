package session

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

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
		"Partitioned": {func(b *bench, s *Session) { b.net.Partition("a", "192.0.2.1") }, false, testTimeout},
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

// An op may not close the zk.Conn. One that does costs its session, and no Close
// for ever after.
func TestAnOpThatClosesTheZkConnHangsNoClose(t *testing.T) {
	for name, wait := range map[string]time.Duration{"AtOnce": 0, "OnceTheSessionIsLost": 2 * testTimeout} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(b *bench) {
				c := b.dial("a")
				_, err := CallForeign(b.Context(), b.session(c), func(z *zk.Conn) (int, error) { z.Close(); return 0, nil })
				require.NoError(b, err)
				<-time.After(wait)
				b.session(c)
				ctx, cancel := context.WithTimeout(b.Context(), testTimeout)
				defer cancel()
				require.NoError(b, c.Close(ctx))
			})
		})
	}
}

// A Close that ran into its context has not closed: the next one must not say so.
func TestARepeatedCloseWaitsAgain(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		held := make(chan struct{})
		require.True(b, c.Go(func() { <-held }))
		for range 2 {
			ctx, cancel := context.WithTimeout(b.Context(), testTimeout)
			err := c.Close(ctx)
			cancel()
			require.ErrorIs(b, err, context.DeadlineExceeded)
			require.ErrorContains(b, err, "still winding down")
		}
		close(held)
		require.NoError(b, c.Close(context.WithoutCancel(b.Context())))
	})
}

// The goroutine that replaces a session that has ended came between the two
// things that Close does, end the session and say that it was Close, and began
// the next one: a connection, sometimes a session, that nobody wanted. Here a hold
// takes its time to hear of the end.
func TestCloseOpensNoOtherSession(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		time.Sleep(testTimeout) // until it is trusted
		_, ok := s.Claim("/n", func(Reason) { time.Sleep(testTimeout / 10) })
		require.True(b, ok)
		b.close(c)
		// That it dialled was a matter of luck; that it began was not.
		require.Same(b, s, c.newest)
		require.Equal(b, 1, b.server.Count(zktest.OpCreateSession))
	})
}
