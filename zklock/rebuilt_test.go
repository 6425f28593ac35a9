package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// A server whose zxids are behind those that a client has seen closes its
// connections without a word, for ever: nobody says "expired". Every call still
// ends with its context.
func TestCallsEndWithTheirContextWhereTheServerIsBehind(t *testing.T) {
	const patience = time.Second
	for claim, call := range map[string]func(ctx context.Context, s *scene, c *zkconn.Client, h *zklock.Hold) error{
		"Lock": func(ctx context.Context, s *scene, c *zkconn.Client, _ *zklock.Hold) error {
			_, err := s.mutex(c).Lock(ctx)
			return err
		},
		"TryLock": func(ctx context.Context, s *scene, c *zkconn.Client, _ *zklock.Hold) error {
			_, err := s.mutex(c).TryLock(ctx)
			return err
		},
		"Queue": func(ctx context.Context, s *scene, c *zkconn.Client, _ *zklock.Hold) error {
			_, err := s.mutex(c).Queue(ctx)
			return err
		},
		"Unlock": func(ctx context.Context, _ *scene, _ *zkconn.Client, h *zklock.Hold) error { return h.Unlock(ctx) },
		"Ready":  func(ctx context.Context, _ *scene, _ *zkconn.Client, h *zklock.Hold) error { return h.Ready(ctx, 0) },
		"Call": func(ctx context.Context, _ *scene, c *zkconn.Client, _ *zklock.Hold) error {
			session, err := c.Session(ctx)
			if err != nil {
				return err
			}
			_, err = zkconn.Call(ctx, session, func(z *zk.Conn) (bool, error) { ok, _, err := z.Exists("/"); return ok, err })
			return err
		},
	} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				c := s.Dial("a")
				h := s.lock(s.mutex(c), s.Timeout)
				s.ZxidAhead(true)
				s.Cut()
				s.Pass(10 * time.Millisecond)
				ctx, cancel := context.WithTimeout(s.Ctx, patience)
				defer cancel()
				begun := time.Now()
				require.ErrorIs(s.T, call(ctx, s, c, h), context.DeadlineExceeded)
				require.Equal(s.T, patience, time.Since(begun))
			})
		})
	}
}

// The ensemble is rebuilt without its data and counts from the start: its tokens
// are smaller than those that the resource remembers. The old holder loses by its
// own clock, everybody finds the new ensemble without help, and every rightful
// holder is refused until an operator has acted: safe, and the refusal says why.
func TestATokenOfARebuiltServerIsOlderThanRemembered(t *testing.T) {
	virtually(t, func(s *scene) {
		for range 20 { // a history
			c := s.Dial("before")
			require.NoError(s.T, s.lock(s.mutex(c), s.Timeout).Unlock(s.Ctx))
			require.NoError(s.T, c.Close(s.Ctx))
		}
		o := s.standoff("a", "b")
		require.NoError(s.T, o.resource.Write(s.Ctx, o.hold.Next()))
		s.Operator.(*zktest.Server).Wipe()
		require.Equal(s.T, zklock.TrustRanOut, o.lost(s.Timeout))

		s.Ended(o.won, 3*s.Timeout, "the waiter never held")
		require.NoError(s.T, o.err)
		require.True(s.T, o.over && o.lostAt.Before(o.wonAt), "told at %v, taken over at %v", o.lostAt, o.wonAt)
		require.Negative(s.T, o.next.Token().Compare(o.hold.Token()), "the case needs a smaller token")

		stamp := o.next.Next()
		err := o.resource.Write(s.Ctx, stamp)
		require.ErrorIs(s.T, err, fencing.ErrStale)
		require.ErrorContains(s.T, err, "older than remembered")
		require.ErrorContains(s.T, err, o.next.Token().String())
		require.ErrorContains(s.T, err, o.hold.Token().String())
		require.ErrorIs(s.T, o.resource.Raise(o.next.Token()), fencing.ErrStale)
		require.NoError(s.T, o.resource.Broken())

		// The operator's override: the resource forgets. Nothing less lets the new
		// ensemble's holders in.
		reset := stage.NewLedger()
		require.NoError(s.T, reset.Write(s.Ctx, stamp))
		require.NoError(s.T, o.next.Unlock(s.Ctx))
		h := s.lock(s.mutex(o.holder), s.Timeout)
		require.NoError(s.T, reset.Write(s.Ctx, h.Next()), "the old holder's client has found the new ensemble too")
		require.NoError(s.T, reset.Broken())
	})
}
