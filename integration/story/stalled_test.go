//go:build linux

package story_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// CASES 43: lost by our clock, alive on the server. Nothing is committed for as
// long as W1's session is trusted, and then everything goes on: what W1 had sent
// meanwhile lies in the sockets of servers that have expired nobody, and makes them
// count a whole timeout from there. So W1, which was told that it has lost, has to
// end its session itself, and W2 holds at once.

// The leader stalls and recovers; the others wait for it all along.
func TestAfterALeadersStallTheNextHoldsAtOnce(t *testing.T) {
	shared.Close(t) // one ensemble at a time is enough for a small machine
	// Sessions end on whole ticks, so long ones leave them alive on a server that
	// wakes up just after the time was over.
	ens := ensemble.New(t, ensemble.WithTick(2*time.Second), ensemble.WithSyncLimit(30))
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	stalledStory(t, ens, 8*time.Second, "leader stalled", leader)
}

// The majority stalls, the leader steps down, and the next one counts anew.
func TestAfterAMajoritysStallTheNextHoldsAtOnce(t *testing.T) {
	ens := shared.Three(t)
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	var followers []*ensemble.Server
	for _, server := range ens.Servers() {
		if server != leader {
			followers = append(followers, server)
		}
	}
	stalledStory(t, ens, 6*time.Second, "majority stalled", followers...)
}

func stalledStory(t *testing.T, ens *ensemble.Ensemble, timeout time.Duration, name string, stalled ...*ensemble.Server) {
	s := newStory(t, ens, timeout, true)
	w1 := s.start("W1", stalled[0].Addr())
	s.timeout = 4 * timeout // this is not about W2's session
	w2 := s.start("W2")
	s.timeout = timeout
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	require.True(t, s.must(w1, worker.Write, "first").OK)
	session := s.sessionOf(s.await(0, "W1", history.Granted))
	waiting := s.begin(w2, worker.Lock)
	s.await(0, "W2", history.Enrolled)

	s.fault(history.Fault, name, "W1")
	for _, server := range stalled {
		require.NoError(t, server.Pause(t.Context()))
	}
	s.await(0, "W1", history.Lost)
	for _, server := range stalled {
		require.NoError(t, server.Resume(t.Context()))
	}
	goesOn := worker.Now()
	s.fault(history.Healed, name, "W1")
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	took := s.await(0, "W2", history.Granted).At - goesOn
	require.Less(t, took, timeout*3/4, "and not when the session's time is over once more")
	t.Logf("W2 holds %v after the servers go on, of a session timeout of %v", took, timeout)
	require.NoError(t, ens.Await(t.Context()))
	for _, server := range ens.Servers() {
		require.NotContains(t, server.Log(t.Context()), fmt.Sprintf("Expiring session 0x%x,", session), "nobody has expired it")
	}

	s.must(w2, worker.Raise)
	require.True(t, s.must(w2, worker.Write, "second").OK)
	late := s.must(w1, worker.Write, "late")
	require.False(t, late.OK)
	_, last := s.store.Value()
	require.Equal(t, last, late.Last)
	s.must(w2, worker.Unlock)
	s.ended()
	require.Equal(t, 1, s.count("", history.Lost))
}

// sessionOf is the session whose node a hold was granted with.
func (s *story) sessionOf(granted history.Event) int64 {
	s.t.Helper()
	_, stat, err := s.operator().Get(s.path + "/" + s.nodeOf(granted))
	require.NoError(s.t, err)
	require.NotZero(s.t, stat.EphemeralOwner)
	return stat.EphemeralOwner
}
