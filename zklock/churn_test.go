package zklock_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// footprint is what attempts that are over may not add to.
type footprint struct {
	goroutines, watches int
	heap                uint64
}

func (s *scene) footprint() footprint {
	s.Pass(100 * time.Millisecond)
	synctest.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), s.Operator.(*zktest.Server).Watches(), m.HeapAlloc}
}

// A library that leaves a goroutine, a watch or a timer behind for each hold dies
// of its busiest lock. After fifty thousand quick holds there is no more of
// anything than after a thousand.
func TestQuickHoldsLeaveNothingBehind(t *testing.T) {
	cycles := 50_000
	if stage.Raced || testing.Short() {
		cycles = 2_000 // the race detector makes each cost five
	}
	virtually(t, func(s *scene) {
		m := s.mutex(s.Dial("a"), zklock.WithMaxHold(time.Hour))
		cycle := func(n int) {
			for range n {
				h, err := m.Lock(s.Ctx)
				require.NoError(s.T, err)
				require.NoError(s.T, h.Unlock(s.Ctx))
			}
		}
		cycle(1000)
		before := s.footprint()
		cycle(cycles)
		after := s.footprint()
		require.Equal(s.T, before.goroutines, after.goroutines)
		require.Equal(s.T, before.watches, after.watches)
		require.Empty(s.T, s.Nodes())
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
		require.Len(s.T, s.Nodes(), 1)
	}

	t.Run("TheEndOfItsMaximumTime", func(t *testing.T) {
		virtually(t, func(s *scene) {
			m := s.mutex(s.Dial("a"), zklock.WithMaxHold(time.Second))
			var last *zklock.Hold
			for range 20 {
				// Each is given up, or ends by itself, within the time of the one before.
				h := s.lock(m, s.Timeout)
				s.Pass(600 * time.Millisecond)
				untouched(s, h)
				if last != nil {
					require.NoError(s.T, last.Unlock(s.Ctx))
				}
				untouched(s, h)
				require.NoError(s.T, h.Unlock(s.Ctx))
				last = h
			}
			h := s.lock(m, s.Timeout)
			s.Pass(990 * time.Millisecond)
			untouched(s, h)
			require.Equal(s.T, zklock.MaxHold, s.lost(h, 20*time.Millisecond).Reason)
			again := s.lock(m, s.Timeout)
			s.Pass(100 * time.Millisecond)
			untouched(s, again)
			require.ErrorIs(s.T, h.Unlock(s.Ctx), zklock.ErrMaxHold)
			untouched(s, again)
		})
	})

	t.Run("TheAnswerToItsRelease", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c := s.Dial("a")
			m := s.mutex(c)
			h := s.lock(m, s.Timeout)
			deleted := make(chan struct{})
			s.Of(c).DropReply(zktest.OpDelete, 1)
			s.Of(c).AtReply(zktest.OpDelete, func(zktest.Request) { close(deleted) })
			released := make(chan error, 1)
			go func() { released <- h.Unlock(s.Ctx) }()
			<-deleted
			next := s.lock(m, s.Timeout)
			require.NoError(s.T, <-released)
			untouched(s, next)
			s.Pass(2 * s.Timeout)
			untouched(s, next)
			require.Equal(s.T, 2, s.Of(c).Count(zktest.OpDelete), "the release is repeated, and finds nothing")
			require.NoError(s.T, h.Unlock(s.Ctx))
			untouched(s, next)
		})
	})

	t.Run("ItsReleaseAfterAnOutage", func(t *testing.T) {
		virtually(t, func(s *scene) {
			a := s.Dial("a")
			h := s.lock(s.mutex(a), s.Timeout)
			of, node := s.Of(a), s.Nodes()[0]
			waiting := s.locking(s.Ctx, s.mutex(s.Dial("b")))
			of.Refuse(true)
			of.Cut()
			ctx, cancel := context.WithTimeout(s.Ctx, 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(s.T, h.Unlock(ctx), context.DeadlineExceeded)
			require.NoError(s.T, s.Operator.Delete(s.Path+"/"+node))
			next := s.granted(waiting, s.Timeout)
			of.Refuse(false)
			require.NoError(s.T, h.Unlock(s.Ctx), "the delete is sent now, and finds nothing")
			require.Positive(s.T, of.Count(zktest.OpDelete))
			s.Pass(2 * s.Timeout)
			untouched(s, next)
		})
	})

	t.Run("TheEndOfItsNode", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c := s.Dial("a")
			of := s.Of(c)
			one, other := s.below("one"), s.below("other")
			neighbour := other.lock(other.mutex(c), s.Timeout)
			h := one.lock(one.mutex(c), s.Timeout)
			// Told late, after an outage.
			of.Refuse(true)
			of.Cut()
			require.NoError(s.T, s.Operator.Delete(one.Path))
			of.Refuse(false)
			require.Equal(s.T, zklock.NodeDeleted, s.lost(h, s.Timeout).Reason)
			next := one.lock(one.mutex(c), s.Timeout)
			s.Pass(2 * s.Timeout)
			untouched(other, neighbour)
			untouched(one, next)
		})
	})
}
