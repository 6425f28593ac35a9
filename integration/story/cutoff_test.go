//go:build linux

package story_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// losesTo lets W1 hold and W2 wait, breaks something that takes W1 its session,
// and sees W1 lose, W2 take over, and the resource refuse what W1 still sends. That
// W1 was told so before W2 was granted the lock is the history's to judge.
func (s *story) losesTo(w1, w2 *worker.Process, breakIt, heal func()) {
	s.t.Helper()
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	s.must(w1, worker.Write, "first")
	waiting := s.begin(w2, worker.Lock)
	s.await(0, w2.Name(), history.Enrolled)

	breakIt()
	s.await(0, w1.Name(), history.Lost)
	_, err := waiting.Wait(s.within())
	require.NoError(s.t, err)
	s.must(w2, worker.Raise)
	require.True(s.t, s.must(w2, worker.Write, "second").OK)
	late := s.must(w1, worker.Write, "late")
	require.False(s.t, late.OK)
	_, last := s.store.Value()
	require.Equal(s.t, last, late.Last)
	heal()
	s.must(w2, worker.Unlock)
	s.ended()
	require.Equal(s.t, 1, s.count("", history.Lost))
}

// Sequence 7: the holder loses its way to the ensemble and keeps the one to the
// resource.
func TestAHolderCutFromTheEnsembleReachesTheResourceInVain(t *testing.T) {
	for name, cut := range map[string]func(*ensemble.Route){clientFrozen: (*ensemble.Route).Freeze, clientCut: (*ensemble.Route).Cut} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, shared.Three(t), 3*time.Second, true)
			route := s.ens.Route(t)
			w1, w2 := s.start("W1", route.Addrs()...), s.start("W2")
			s.losesTo(w1, w2, func() {
				s.fault(history.Fault, name, "W1")
				cut(route)
			}, func() {
				route.Heal()
				s.fault(history.Healed, name, "W1")
			})
		})
	}
}

// CASES: a follower that is cut off from its quorum answers its client on its own
// authority for a while.
func TestAHolderOnAFollowerCutFromItsQuorumLosesInTime(t *testing.T) {
	s := newStory(t, shared.Three(t), 4*time.Second, true)
	leader, err := s.ens.Leader(t.Context())
	require.NoError(t, err)
	servers := s.ens.Servers()
	i := slices.IndexFunc(servers, func(f *ensemble.Server) bool { return f != leader })
	f := servers[i]
	w1, w2 := s.start("W1", f.Addr()), s.start("W2", leader.Addr())
	s.losesTo(w1, w2, func() {
		s.fault(history.Fault, quorumCut, "W1")
		require.NoError(t, f.CutQuorum(t.Context()))
	}, func() {
		require.NoError(t, f.HealQuorum(t.Context()))
		require.NoError(t, s.ens.Await(t.Context()))
		s.fault(history.Healed, quorumCut, "W1")
	})
}

// CASES: a leader that is deposed without noticing it answers everything that takes
// no quorum, reconnects included, beside its successor.
func TestAHolderOnADeposedLeaderLosesInTime(t *testing.T) {
	shared.Close(t) // one ensemble at a time is enough for a small machine
	ens := ensemble.New(t, ensemble.WithSyncLimit(300))
	s := newStory(t, ens, 6*time.Second, true)
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	var others []string
	for _, server := range ens.Servers() {
		if server != leader {
			others = append(others, server.Addr())
		}
	}
	w1, w2 := s.start("W1", leader.Addr()), s.start("W2", others...)
	s.losesTo(w1, w2, func() {
		s.fault(history.Fault, "leader deposed", "W1")
		old, err := ens.Depose(t.Context())
		require.NoError(t, err)
		require.Equal(t, leader, old)
	}, func() {
		st, err := leader.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, "leader", st.Mode, "it has not noticed until the end")
		require.NoError(t, leader.HealQuorum(t.Context()))
		require.NoError(t, ens.Await(t.Context()))
		s.fault(history.Healed, "leader deposed", "W1")
	})
}
