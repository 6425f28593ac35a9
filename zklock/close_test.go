package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// A program that holds ends in the ordinary way. It need not unlock first: the
// end of the session is the end of the hold, and the ensemble hears of it.
func TestAClosedClientHandsOverInUnderASecond(t *testing.T) {
	everywhere(t, func(s *scene) {
		a := s.Dial("a")
		h := s.lock(s.mutex(a), s.Timeout)
		next := s.locking(s.Ctx, s.mutex(s.Dial("b")))
		require.False(s.T, next.returned())
		closed := time.Now()
		require.NoError(s.T, a.Close(s.Ctx))
		require.ErrorIs(s.T, context.Cause(h.Context()), zkconn.ErrClosed)
		got := s.granted(next, time.Second)
		require.Less(s.T, next.at.Sub(closed), time.Second)
		require.Positive(s.T, got.Token().Compare(h.Token()))
		require.NoError(s.T, got.Unlock(s.Ctx))
	})
}

// The program ends while no server can be reached. Close is as quick as ever and
// the hold is over, but the node lives until the session times out: whoever
// reads the error knows why the next one has to wait.
func TestACloseThatReachesNoServerSaysSo(t *testing.T) {
	everywhere(t, func(s *scene) {
		a := s.Dial("a")
		h := s.lock(s.mutex(a), s.Timeout)
		next := s.locking(s.Ctx, s.mutex(s.Dial("b")))
		require.False(s.T, next.returned())
		of := s.Of(a)
		of.Refuse(true)
		of.Cut()
		s.Eventually(time.Second, func() bool { return h.State() == zklock.Suspect }, "the holder has noticed")

		closed := time.Now()
		err := a.Close(s.Ctx)
		require.ErrorContains(s.T, err, "no server could be told")
		require.ErrorContains(s.T, err, s.Timeout.String())
		require.Less(s.T, time.Since(closed), s.Timeout/4)
		require.ErrorIs(s.T, context.Cause(h.Context()), zkconn.ErrClosed)
		require.False(s.T, next.returned())
		require.Len(s.T, s.Nodes(), 2)
		require.NoError(s.T, a.Close(s.Ctx), "said once")

		got := s.granted(next, s.Timeout+time.Second)
		require.Greater(s.T, next.at.Sub(closed), s.Timeout/2, "it was the session's timeout that freed the lock")
		require.NoError(s.T, got.Unlock(s.Ctx))
	})
}
