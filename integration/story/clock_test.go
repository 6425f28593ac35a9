//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// Sequence 12, the servers' half: one server's wall clock is an hour ahead and
// another's an hour behind. Sessions go by monotonic clocks, so no hold is lost, a
// killed holder's lock is free after its session's time and not an hour later, and
// the order is that of zxids. An image without libfaketime has all clocks right.
func TestWallClocksOfServersDecideNothing(t *testing.T) {
	shared.Close(t) // one ensemble at a time is enough for a small machine
	ens := ensemble.New(t, ensemble.WithServerEnv(1, "ZOO_FAKETIME", "+1h"), ensemble.WithServerEnv(2, "ZOO_FAKETIME", "-1h"))
	s := newStory(t, ens, 4*time.Second, true)
	cycles := s.cycle("W1", "W2")
	for range ens.Servers() {
		s.killLeaderAt(history.Granted) // so that each clock leads, or most
	}
	s.halt(cycles)
	require.Zero(t, s.count("", history.Lost))

	w1, w2 := s.workers[0], s.workers[1]
	s.must(w1, worker.Lock)
	from := s.log.Len()
	waiting := s.begin(w2, worker.Lock)
	s.await(from, "W2", history.Enrolled)
	killed := worker.Now()
	require.NoError(t, w1.Kill())
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	require.Greater(t, worker.Now()-killed, s.timeout/2, "no sooner than its session can end")
	s.must(w2, worker.Unlock)
	s.workers = s.workers[1:]
	s.ended()
}
