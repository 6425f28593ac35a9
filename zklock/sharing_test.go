package zklock_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
)

// One session owns all their nodes: a lock that asks the ensemble whether its
// session holds it, or that keeps its state in the Mutex, lets two goroutines of
// one process in. And whoever unlocks need not be who locked.
func TestGoroutinesOfOneProcessExcludeEachOther(t *testing.T) {
	const goroutines = 100
	for claim, mutexes := range map[string]int{"OnOneMutex": 1, "OnAMutexEach": goroutines} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				c := s.Dial("a")
				ms := make([]*zklock.Mutex, mutexes)
				for i := range ms {
					ms[i] = s.mutex(c)
				}
				var wg sync.WaitGroup
				var holders atomic.Int32
				// Unguarded on purpose: the race detector, and a sum that comes out
				// short, are parts of this test.
				sum, file := 0, s.protects()
				for i := range goroutines {
					wg.Go(func() {
						h, err := ms[i%mutexes].Lock(s.Ctx)
						if err != nil {
							s.T.Error(err)
							return
						}
						if n := holders.Add(1); n != 1 {
							s.T.Errorf("%d holders", n)
						}
						before := sum
						if err := file.Write(s.Ctx, h.Next()); err != nil {
							s.T.Errorf("the only holder is refused: %v", err)
						}
						s.Pass(time.Millisecond) // in virtual time, what takes none meets nobody
						sum = before + 1
						holders.Add(-1)

						unlocked := make(chan error)
						go func() { unlocked <- h.Unlock(s.Ctx) }()
						if err := <-unlocked; err != nil {
							s.T.Error(err)
						}
					})
				}
				wg.Wait()
				require.Equal(s.T, goroutines, sum)
				require.NoError(s.T, file.Broken())
				require.Empty(s.T, s.Nodes())
			})
		})
	}
}
