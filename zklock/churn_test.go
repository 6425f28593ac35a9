package zklock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// footprint is what attempts that are over may not add to.
type footprint struct {
	goroutines, watches int
	heap                uint64
}

func (s *scene) footprint() footprint {
	s.pass(100 * time.Millisecond)
	synctest.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), s.operator.(*zktest.Server).Watches(), m.HeapAlloc}
}

// A library that leaves a goroutine, a watch or a timer behind for each hold dies
// of its busiest lock. After fifty thousand quick holds there is no more of
// anything than after a thousand.
func TestQuickHoldsLeaveNothingBehind(t *testing.T) {
	cycles := 50_000
	if raced || testing.Short() {
		cycles = 2_000 // the race detector makes each cost five
	}
	virtually(t, func(s *scene) {
		m := s.mutex(s.dial("a"), zklock.WithMaxHold(time.Hour))
		cycle := func(n int) {
			for range n {
				h, err := m.Lock(s.ctx)
				require.NoError(s.T, err)
				require.NoError(s.T, h.Unlock(s.ctx))
			}
		}
		cycle(1000)
		before := s.footprint()
		cycle(cycles)
		after := s.footprint()
		require.Equal(s.T, before.goroutines, after.goroutines)
		require.Equal(s.T, before.watches, after.watches)
		require.Empty(s.T, s.nodes())
		require.Less(s.T, float64(after.heap)-float64(before.heap), 1e6+float64(20*cycles), "bytes on the heap")
	})
}

// Something of one hold comes late, when the next one stands already: its timer,
// the answer to its release, its second Unlock, the end of its node. The next hold
// stays as it is.
func TestWhatComesLateFromOneHoldTouchesNoOther(t *testing.T) {
	untouched := func(s *scene, h *zklock.Hold) {
		s.T.Helper()
		require.NoError(s.T, h.Context().Err())
		require.Equal(s.T, zklock.Held, h.State())
		require.Positive(s.T, h.Remaining())
		require.Len(s.T, s.nodes(), 1)
	}

	t.Run("TheEndOfItsMaximumTime", func(t *testing.T) {
		virtually(t, func(s *scene) {
			m := s.mutex(s.dial("a"), zklock.WithMaxHold(time.Second))
			var last *zklock.Hold
			for range 20 {
				// Each is given up, or ends by itself, within the time of the one before.
				h := s.lock(m, s.timeout)
				s.pass(600 * time.Millisecond)
				untouched(s, h)
				if last != nil {
					require.NoError(s.T, last.Unlock(s.ctx))
				}
				untouched(s, h)
				require.NoError(s.T, h.Unlock(s.ctx))
				last = h
			}
			h := s.lock(m, s.timeout)
			s.pass(990 * time.Millisecond)
			untouched(s, h)
			require.Equal(s.T, zklock.MaxHold, s.lost(h, 20*time.Millisecond).Reason)
			again := s.lock(m, s.timeout)
			s.pass(100 * time.Millisecond)
			untouched(s, again)
			require.ErrorIs(s.T, h.Unlock(s.ctx), zklock.ErrMaxHold)
			untouched(s, again)
		})
	})

	t.Run("TheAnswerToItsRelease", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c := s.dial("a")
			m := s.mutex(c)
			h := s.lock(m, s.timeout)
			deleted := make(chan struct{})
			s.of(c).DropReply(zktest.OpDelete, 1)
			s.of(c).AtReply(zktest.OpDelete, func(zktest.Request) { close(deleted) })
			released := make(chan error, 1)
			go func() { released <- h.Unlock(s.ctx) }()
			<-deleted
			next := s.lock(m, s.timeout)
			require.NoError(s.T, <-released)
			untouched(s, next)
			s.pass(2 * s.timeout)
			untouched(s, next)
			require.Equal(s.T, 2, s.of(c).Count(zktest.OpDelete), "the release is repeated, and finds nothing")
			require.NoError(s.T, h.Unlock(s.ctx))
			untouched(s, next)
		})
	})

	t.Run("ItsReleaseAfterAnOutage", func(t *testing.T) {
		virtually(t, func(s *scene) {
			a := s.dial("a")
			h := s.lock(s.mutex(a), s.timeout)
			of, node := s.of(a), s.nodes()[0]
			waiting := s.locking(s.ctx, s.mutex(s.dial("b")))
			of.Refuse(true)
			of.Cut()
			ctx, cancel := context.WithTimeout(s.ctx, 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(s.T, h.Unlock(ctx), context.DeadlineExceeded)
			require.NoError(s.T, s.operator.Delete(s.path+"/"+node))
			next := s.granted(waiting, s.timeout)
			of.Refuse(false)
			require.NoError(s.T, h.Unlock(s.ctx), "the delete is sent now, and finds nothing")
			require.Positive(s.T, of.Count(zktest.OpDelete))
			s.pass(2 * s.timeout)
			untouched(s, next)
		})
	})

	t.Run("TheEndOfItsNode", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c := s.dial("a")
			of := s.of(c)
			one, other := s.below("one"), s.below("other")
			neighbour := other.lock(other.mutex(c), s.timeout)
			h := one.lock(one.mutex(c), s.timeout)
			// Told late, after an outage.
			of.Refuse(true)
			of.Cut()
			require.NoError(s.T, s.operator.Delete(one.path))
			of.Refuse(false)
			require.Equal(s.T, zklock.NodeDeleted, s.lost(h, s.timeout).Reason)
			next := one.lock(one.mutex(c), s.timeout)
			s.pass(2 * s.timeout)
			untouched(other, neighbour)
			untouched(one, next)
		})
	})
}
