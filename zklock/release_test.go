package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The holder calls Unlock while no server can be reached. It is told that the
// release is not proven, ownership ends all the same, and the node goes as soon
// as the link is back, so that nobody waits for a session timeout.
func TestAnUnlockInAnOutageIsCarriedOutWhenTheLinkIsBack(t *testing.T) {
	everywhere(t, func(s *scene) {
		a, b := s.dial("a"), s.dial("b")
		h := s.lock(s.mutex(a), s.timeout)
		of := s.of(a)
		next := s.locking(s.ctx, s.mutex(b))
		require.False(s.T, next.returned())

		of.Refuse(true)
		of.Cut()
		ctx, cancel := context.WithTimeout(s.ctx, time.Second)
		defer cancel()
		require.ErrorIs(s.T, h.Unlock(ctx), context.DeadlineExceeded)
		require.Error(s.T, h.Context().Err(), "ownership ends when Unlock starts")
		s.pass(time.Second)
		require.False(s.T, next.returned(), "the node is still there")
		of.Refuse(false)
		got := s.granted(next, 2*time.Second)
		require.Positive(s.T, got.Token().Compare(h.Token()))
		require.NoError(s.T, h.Unlock(s.ctx), "the release is proven by now")
	})
}
