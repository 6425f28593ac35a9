//go:build linux

package story_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
)

// An upgrade: every server goes and comes back, one after the other, the leader
// last, while four workers hold in turn. With a session of ten seconds no hold is
// lost.
func TestARollingRestartLosesNoHold(t *testing.T) {
	s := newStory(t, shared.Three(t), 10*time.Second, true)
	s.dwell = 50 * time.Millisecond
	cycles := s.cycle("W1", "W2", "W3", "W4")
	s.await(0, "W4", history.Granted)
	leader, err := s.ens.Leader(t.Context())
	require.NoError(t, err)
	servers := slices.DeleteFunc(s.ens.Servers(), func(server *ensemble.Server) bool { return server == leader })
	for _, server := range append(servers, leader) {
		s.fault(history.Fault, "server restarted", "")
		require.NoError(t, server.Stop(t.Context()))
		from := s.log.Len()
		require.NoError(t, server.Start(t.Context()))
		require.NoError(t, s.ens.Await(t.Context()))
		s.fault(history.Healed, "server restarted", "")
		for _, w := range s.workers {
			s.await(from, w.Name(), history.Granted)
		}
	}
	for i, d := range s.halt(cycles) {
		require.GreaterOrEqual(t, d.Cycles, len(s.ens.Servers()), "%s has had its turn", s.workers[i].Name())
	}
	s.ended()
	require.Zero(t, s.count("", history.Lost))
	require.Zero(t, s.count("", history.Failed))
	t.Log(s)
}
