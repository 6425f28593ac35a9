//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/neighbour"
	"github.com/zkfence/zkfence/integration/worker"
)

// Curator's selector and our election lead in turn, and each says who leads.
func TestASelectorBesideOurElection(t *testing.T) {
	n := newNeighbours(t, 6*time.Second)
	theirs := n.moveIn("theirs", neighbour.CuratorSelector)
	e, err := election.New(n.dial(), n.path, "ours")
	require.NoError(t, err)
	leads := func(want string) {
		t.Helper()
		leader, err := e.Leader(n.within())
		require.NoError(t, err)
		require.Equal(t, want, leader.Info)
		said, err := theirs.Ask(n.within())
		require.NoError(t, err)
		require.Equal(t, want, said)
	}

	first, err := e.Campaign(n.within())
	require.NoError(t, err)
	waiting, err := theirs.Begin(n.within())
	require.NoError(t, err)
	second, err := waiting.Enrolled(n.within())
	require.NoError(t, err)
	resigned := worker.Now()
	require.NoError(t, first.Resign(n.within()))
	require.NoError(t, waiting.Wait())
	require.Greater(t, n.await(0, "theirs", history.Granted).At, resigned)
	leads("theirs")

	campaign := make(chan error, 1)
	var third *election.Term
	var at time.Duration
	go func() {
		var err error
		third, err = e.Campaign(n.within())
		at = worker.Now()
		campaign <- err
	}()
	for queue := 0; queue < 2; {
		candidates, err := e.Queue(n.within())
		require.NoError(t, err)
		queue = len(candidates)
	}
	require.NoError(t, theirs.Unlock(n.within()))
	require.NoError(t, <-campaign)
	require.Greater(t, at, n.await(0, "theirs", history.Unlocking).At)
	leads("ours")
	require.Positive(t, second.Compare(first.Token()))
	require.Positive(t, third.Token().Compare(second))
	require.NoError(t, third.Resign(n.within()))
	n.moveOut()
	n.ended()
}
