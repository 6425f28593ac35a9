//go:build linux

package story_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/neighbour"
	"github.com/zkfence/zkfence/integration/worker"
)

// handovers is how many were granted what they had waited for while another held.
func (n *neighbours) handovers() (count int) {
	type key struct {
		worker  string
		attempt uint64
	}
	began, left := map[key]time.Duration{}, map[key]time.Duration{}
	var granted []history.Event
	for _, e := range n.log.Events() {
		switch k := (key{e.Worker, e.Attempt}); e.Kind {
		case history.Began:
			began[k] = e.At
		case history.Unlocking:
			left[k] = e.At
		case history.Granted:
			granted = append(granted, e)
		}
	}
	slices.SortFunc(granted, func(a, b history.Event) int { return a.Token.Compare(b.Token) })
	for i, next := range granted[1:] {
		if began[key{next.Worker, next.Attempt}] < left[key{granted[i].Worker, granted[i].Attempt}] {
			count++
		}
	}
	return count
}

// Each of four libraries waits behind each other one, and then two contenders of
// each all at once: never two inside, and first come, first served.
func TestFourLibrariesShareOneLock(t *testing.T) {
	n := newNeighbours(t, 6*time.Second)
	recipes := []neighbour.Recipe{neighbour.CuratorMutex, neighbour.KazooLock, neighbour.GoZooKeeper}
	for _, i := range []string{"1", "2"} {
		for _, r := range recipes {
			n.moveIn(string(r)+i, r)
		}
		n.start("ours" + i)
	}
	n.ready()
	o, c, k, g := n.ours(n.workers[0]), n.their(n.theirs[0]), n.their(n.theirs[1]), n.their(n.theirs[2])
	n.relay(o, c, o, k, o, g, c, k, c, g, k, g, o)

	const rounds = 50
	from := n.log.Len()
	var cycles []*worker.Pending
	for _, p := range n.workers {
		cycles = append(cycles, n.begin(p, worker.Cycle))
	}
	errs := make([]error, len(n.theirs))
	var inLine sync.WaitGroup
	ctx := n.within()
	for i, p := range n.theirs {
		inLine.Go(func() {
			errs[i] = n.inAndOut(ctx, p, rounds, rand.New(rand.NewPCG(1, uint64(i))))
		})
	}
	inLine.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for i, d := range n.halt(cycles) {
		require.GreaterOrEqual(t, d.Cycles, rounds/2, "%s has had its turn", n.workers[i].Name())
	}
	took := n.log.Events()[n.log.Len()-1].At - n.log.Events()[from].At
	n.moveOut()
	n.ended()
	require.Greater(t, n.handovers(), 300)
	t.Logf("%v; %d were handed over, the crowd's in %v", n, n.handovers(), took)
}

// inAndOut has one of theirs hold so many times. It lets up to three others by in
// between: who always gets in line at once is always behind the same one.
func (n *neighbours) inAndOut(ctx context.Context, p *neighbour.Process, rounds int, random *rand.Rand) error {
	for range rounds {
		if err := p.Lock(ctx); err != nil {
			return err
		}
		if err := p.Unlock(ctx); err != nil {
			return err
		}
		for range random.IntN(4) {
			_, err := n.log.Await(ctx, n.log.Len(), func(e history.Event) bool { return e.Kind == history.Granted })
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Other recipes that stand in line with ours, in both directions.
func TestOtherRecipesThatShareAPathWithOurs(t *testing.T) {
	for _, r := range []neighbour.Recipe{neighbour.CuratorSelector, neighbour.KazooOwnNames, neighbour.KazooElection, neighbour.KazooWrite, neighbour.KazooRead} {
		t.Run(string(r), func(t *testing.T) {
			n := newNeighbours(t, 6*time.Second)
			o, x := n.ours(n.start("ours")), n.their(n.moveIn("theirs", r))
			n.relay(o, x, o, x)
			require.Empty(t, n.rules())
			require.Equal(t, 4, n.count("", history.Granted))
		})
	}
}

// A holder of theirs is killed: ours comes in when its session is over.
func TestOursTakesOverFromAKilledNeighbour(t *testing.T) {
	for _, r := range []neighbour.Recipe{neighbour.CuratorMutex, neighbour.KazooLock, neighbour.GoZooKeeper} {
		t.Run(string(r), func(t *testing.T) {
			n := newNeighbours(t, 4*time.Second)
			theirs, o := n.moveIn("theirs", r), n.ours(n.start("ours"))
			n.their(theirs).join()()
			granted := o.join()
			killed := worker.Now()
			require.NoError(t, theirs.Kill())
			granted()
			// It was last heard of a third of its timeout before, at most.
			require.Greater(t, n.await(0, "ours", history.Granted).At-killed, n.timeout/2)
			o.unlock()
			n.ended()
		})
	}
}
