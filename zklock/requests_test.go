package zklock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// What a lock costs the ensemble is part of the contract: with one request too
// many per waiter, a release wakes a herd.
func TestRequestsAreCounted(t *testing.T) {
	t.Run("AnUncontendedLockIsCreateThenListAndReadInOneFlightAndUnlockOneDelete", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			require.NoError(t, w.lock(m).Unlock(w.ctx)) // makes the parents
			w.settle()
			since := w.mark()
			h := w.lock(m)
			w.settle()
			require.Contains(t, []string{"create getData getChildren2", "create getChildren2 getData"}, w.requests(since, "a"))
			flight := w.Server.From("a").Requests()
			list, read := flight[len(flight)-2], flight[len(flight)-1]
			require.Less(t, (read.At - list.At).Abs(), time.Millisecond, "one after the other would be a round trip more")
			since = w.mark()
			require.NoError(t, h.Unlock(w.ctx))
			require.Equal(t, "delete", w.requests(since, "a"))
		})
	})

	t.Run("AWaiterAddsOneReadAndIsSilentAndTheHandOverIsProofAndList", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			b := w.mutex(w.dial("b"))
			since := w.mark()
			r := w.start(w.ctx, b)
			require.Contains(t, []string{"create getData getChildren2 getData", "create getChildren2 getData getData"}, w.requests(since, "b"))
			since = w.mark()
			w.pass(20 * T)
			require.Empty(t, w.requests(since, "b"))
			require.False(t, r.returned())
			since = w.mark()
			require.NoError(t, h.Unlock(w.ctx))
			<-r.done
			require.NoError(t, r.err)
			require.Contains(t, []string{"multi getChildren2", "getChildren2 multi"}, w.requests(since, "b"))
			require.NoError(t, r.hold.Unlock(w.ctx))
		})
	})

	t.Run("AReleaseWakesOneWaiterAmong200", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("holder")))
			var first *result
			for i := range 200 {
				c := w.dial(fmt.Sprintf("w%d", i))
				r := &result{done: make(chan struct{})}
				m := w.mutex(c)
				go func() {
					defer close(r.done)
					if r.hold, r.err = m.Lock(w.ctx); r.err == nil {
						<-r.hold.Context().Done()
					}
				}()
				if i == 0 {
					first = r
					w.settle()
				}
			}
			w.settle()
			require.Equal(t, 201, w.contenders())
			w.Server.ResetCounts()
			require.NoError(t, h.Unlock(w.ctx))
			w.pass(time.Second)
			require.Equal(t, 1, w.Server.Count(zktest.OpGetChildren2), w.Server.Trace(20))
			require.Equal(t, 1, w.Server.Count(zktest.OpDelete))
			require.Zero(t, w.Server.Count(zktest.OpGetData))
			require.NotNil(t, first.hold)
			require.Equal(t, 200, w.contenders())
		})
	})

	t.Run("TryLockOnATakenLockLeavesNoNode", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			h := w.lock(w.mutex(w.dial("a")))
			b := w.mutex(w.dial("b"))
			since := w.mark()
			_, err := b.TryLock(w.ctx)
			require.ErrorIs(t, err, zklock.ErrLocked)
			require.ErrorContains(t, err, path)
			require.Equal(t, 1, w.contenders())
			require.Contains(t, []string{"create getData getChildren2 delete", "create getChildren2 getData delete"}, w.requests(since, "b"))
			require.NoError(t, h.Unlock(w.ctx))
			h, err = b.TryLock(w.ctx)
			require.NoError(t, err)
			require.NoError(t, h.Unlock(w.ctx))
		})
	})
}
