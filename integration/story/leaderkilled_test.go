//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
)

// Sequence 9: the ensemble's leader dies around grants and around releases, while
// three workers hand the lock around as fast as they can.
func TestTheLeaderDiesAroundGrantAndRelease(t *testing.T) {
	for _, moment := range []history.Kind{history.Granted, history.Unlocking} {
		t.Run(string(moment), func(t *testing.T) {
			s := newStory(t, shared.Three(t), 6*time.Second, true)
			cycles := s.cycle("W1", "W2", "W3")
			n := times(10, 25)
			for range n {
				s.killLeaderAt(moment)
			}
			for i, d := range s.halt(cycles) {
				require.GreaterOrEqual(t, d.Cycles, n, "%s has had its turn between the faults", s.workers[i].Name())
			}
			s.ended()
			t.Log(s)
		})
	}
}

// killLeaderAt kills the leader as soon as anything of that kind happens, lets the
// others take over until the lock has changed hands, and brings the killed server
// back.
func (s *story) killLeaderAt(moment history.Kind) {
	s.t.Helper()
	ctx := s.within()
	leader, err := s.ens.Leader(ctx)
	require.NoError(s.t, err)
	s.await(s.log.Len(), "", moment)
	s.fault(history.Fault, leaderKilled, "")
	require.NoError(s.t, leader.Kill(ctx))
	from := s.log.Len()
	require.NoError(s.t, s.ens.Await(ctx))
	next := s.await(from, "", history.Granted)
	s.await(from, next.Worker, history.Unlocking)
	require.NoError(s.t, leader.Start(ctx))
	require.NoError(s.t, s.ens.Await(ctx))
	s.fault(history.Healed, leaderKilled, "")
}
