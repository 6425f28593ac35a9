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

// newEpoch kills the leader and brings it back.
func newEpoch(t *testing.T, ens *ensemble.Ensemble) (epoch uint64) {
	t.Helper()
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, leader.Kill(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	require.NoError(t, leader.Start(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	leader, err = ens.Leader(t.Context())
	require.NoError(t, err)
	st, err := leader.Status(t.Context())
	require.NoError(t, err)
	return st.Zxid >> 32
}

// Sequence 10, first half: all servers go and come back within the session.
func TestAHoldOutlivesARestartOfAllServers(t *testing.T) {
	s := newStory(t, shared.Three(t), 40*time.Second, true)
	w1 := s.start("W1")
	s.must(w1, worker.Lock)
	require.True(t, s.must(w1, worker.Write, "before").OK)
	s.fault(history.Fault, "all stopped", "")
	for _, server := range s.ens.Servers() {
		require.NoError(t, server.Stop(t.Context()))
	}
	for _, server := range s.ens.Servers() {
		require.NoError(t, server.Start(t.Context()))
	}
	require.NoError(t, s.ens.Await(t.Context()))
	s.fault(history.Healed, "all stopped", "")
	require.True(t, s.must(w1, worker.Write, "after").OK)
	s.must(w1, worker.Unlock)
	s.ended()
	require.Zero(t, s.count("", history.Lost))
}

// Sequence 10, second half: an ensemble rebuilt from nothing counts zxids anew. Its
// holders are refused, all of them, until its epoch is above that of the old one,
// which takes an election each.
func TestARebuiltEnsemblesTokensAreRefusedUntilItsEpochIsAbove(t *testing.T) {
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	require.NoError(t, s.ens.Rebuild(t.Context())) // whatever the stories before have raised its epoch to
	old := newEpoch(t, s.ens)
	w1 := s.start("W1")
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	require.True(t, s.must(w1, worker.Write, "before").OK)
	s.ended() // the history of this ensemble
	_, last := s.store.Value()
	require.Equal(t, old, last.Token.Uint64()>>32)

	require.NoError(t, s.ens.Rebuild(t.Context()))
	s.workers, s.path = nil, s.path+"-anew"
	w2 := s.start("W2")
	s.must(w2, worker.Lock)
	for _, order := range []string{worker.Raise, worker.Write} {
		refused, err := s.try(w2, order)
		require.NoError(t, err)
		require.False(t, refused.OK)
		require.Equal(t, last, refused.Last, "what the resource remembers stands")
	}
	s.must(w2, worker.Unlock)

	for epoch := uint64(0); epoch <= old; {
		epoch = newEpoch(t, s.ens)
	}
	s.must(w2, worker.Lock)
	s.must(w2, worker.Raise)
	require.Equal(t, "before", s.must(w2, worker.Read).Value)
	require.True(t, s.must(w2, worker.Write, "after").OK)
	require.NoError(t, w2.Close())
	for _, v := range history.Check(s.log.Events(), s.timeout) {
		require.NotContains(t, []history.Rule{history.Backwards, history.Orphan, history.Endless, history.NotLinearizable}, v.Rule, "%v", v)
	}
}
