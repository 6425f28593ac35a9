package zklock_test

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// After a loss the lock object believed that it still held, or that it was still
// being released: Lock said "deadlock" or waited for ever, Unlock said "not
// locked", and only a restart of the process helped.
func TestAMutexIsUsableAfterEveryLossHoweverItIsTreated(t *testing.T) {
	losses := []struct {
		reason zklock.Reason
		bring  func(s *scene, session int64)
	}{
		{zklock.SessionExpired, func(s *scene, session int64) {
			s.For(session).Cut() // or the first news is that the node has gone
			require.NoError(s.T, s.Expire(session))
		}},
		{zklock.NodeDeleted, func(s *scene, _ int64) { require.NoError(s.T, s.Operator.Delete(s.Path)) }},
		{zklock.SessionReplaced, func(s *scene, session int64) {
			s.For(session).NewSession(1)
			s.For(session).Cut()
		}},
	}
	treatments := []func(s *scene, h *zklock.Hold){
		func(*scene, *zklock.Hold) {}, // Lock again without Unlock
		func(s *scene, h *zklock.Hold) { require.ErrorIs(s.T, h.Unlock(s.Ctx), zklock.ErrLost) },
		func(s *scene, h *zklock.Hold) {
			first := h.Unlock(s.Ctx)
			require.ErrorIs(s.T, first, zklock.ErrLost)
			require.Equal(s.T, first, h.Unlock(s.Ctx))
		},
	}
	virtually(t, func(s *scene) {
		const rounds = 108 // every loss with every treatment a dozen times
		server := s.Operator.(*zktest.Server)
		c, file := s.Dial("a"), s.protects()
		m := s.mutex(c)
		var goroutines, watches, sessions int
		var last *zklock.Hold
		for round := range rounds {
			h := s.lock(m, 2*s.Timeout) // a replaced session's node has a timeout to live
			file.admits(h)
			if last != nil {
				require.Positive(s.T, h.Token().Compare(last.Token()))
				file.refuses(last)
				require.ErrorIs(s.T, last.Unlock(s.Ctx), zklock.ErrLost)
			}
			require.Equal(s.T, zklock.Held, h.State(), "round %d", round)
			require.Len(s.T, s.Nodes(), 1)

			loss := losses[round%len(losses)]
			loss.bring(s, s.Session(c))
			require.Equal(s.T, loss.reason, s.lost(h, time.Second).Reason)
			treatments[round/len(losses)%len(treatments)](s, h)
			last = h

			if round%9 == 8 { // the same loss and treatment each time
				s.Pass(2 * s.Timeout)
				synctest.Wait()
				if round == 8 {
					goroutines, watches, sessions = runtime.NumGoroutine(), server.Watches(), len(server.Sessions())
				}
				// One per round would be ninety-nine; one on its way out is no growth.
				require.LessOrEqual(s.T, runtime.NumGoroutine(), goroutines+2, "round %d", round)
				require.LessOrEqual(s.T, server.Watches(), watches, "round %d", round)
				require.LessOrEqual(s.T, len(server.Sessions()), sessions, "round %d", round)
			}
		}
		h := s.lock(s.mutex(s.Dial("b")), s.Timeout)
		file.admits(h)
		require.NoError(s.T, h.Unlock(s.Ctx))
		h = s.lock(m, s.Timeout)
		require.NoError(s.T, h.Unlock(s.Ctx))
		require.Empty(s.T, s.Nodes())
	})
}
