//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/neighbour"
	"github.com/zkfence/zkfence/zklock"
)

// kazoo's lock as it comes does not know our names, nor Curator's.
func TestKazooHasToBeToldOfOurNames(t *testing.T) {
	n := newNeighbours(t, 6*time.Second)
	o, x := n.ours(n.start("ours")), n.their(n.moveIn("theirs", neighbour.KazooUntold))
	o.join()()
	x.join()() // beside ours
	o.unlock()
	granted := o.join() // which knows kazoo's
	x.unlock()
	granted()
	o.unlock()
	require.Equal(t, []history.Rule{history.Overlap}, n.rules())
}

// What kazoo has been told does not make Curator know kazoo's own names.
func TestKazooHasToTakeNamesThatCuratorReads(t *testing.T) {
	n := newNeighbours(t, 6*time.Second)
	k, c := n.their(n.moveIn("kazoo", neighbour.KazooOwnNames)), n.their(n.moveIn("curator", neighbour.CuratorMutex))
	o := n.ours(n.start("ours"))
	k.join()()
	c.join()() // beside kazoo
	granted := o.join()
	k.unlock()
	c.unlock()
	granted()
	o.unlock()
	require.Equal(t, []history.Rule{history.Overlap}, n.rules())
}

// Recipes that are no line of contenders do not see ours. Where ours sees them it
// is refused.
func TestRecipesThatCannotShareAPathWithOurs(t *testing.T) {
	for recipe, refused := range map[neighbour.Recipe]bool{
		neighbour.CuratorLatch: true, neighbour.CuratorRead: true, neighbour.CuratorWrite: true,
		neighbour.CuratorSemaphore: false, neighbour.KazooSemaphore: false,
	} {
		t.Run(string(recipe), func(t *testing.T) {
			n := newNeighbours(t, 6*time.Second)
			theirs := n.moveIn("theirs", recipe)
			client := n.dial()
			mutex, err := zklock.New(client, n.path)
			require.NoError(t, err)
			e, err := election.New(client, n.path, "ours")
			require.NoError(t, err)

			// Theirs first.
			n.their(theirs).join()()
			if refused {
				_, err = mutex.Lock(n.within())
				require.ErrorIs(t, err, zklock.ErrForeignRecipe)
				_, err = mutex.TryLock(n.within())
				require.ErrorIs(t, err, zklock.ErrForeignRecipe)
				_, err = e.Campaign(n.within())
				require.ErrorIs(t, err, zklock.ErrForeignRecipe)
				_, err = e.Leader(n.within())
				require.ErrorIs(t, err, zklock.ErrForeignRecipe)
			} else {
				hold, err := mutex.TryLock(n.within()) // beside theirs
				require.NoError(t, err)
				require.NoError(t, hold.Unlock(n.within()))
			}
			require.NoError(t, theirs.Unlock(n.within()))

			// Ours first.
			hold, err := mutex.Lock(n.within())
			require.NoError(t, err)
			n.their(theirs).join()() // beside ours
			require.Positive(t, hold.Remaining())
			require.NoError(t, hold.Unlock(n.within()))
			require.NoError(t, theirs.Unlock(n.within()))
			n.moveOut()
			if recipe != neighbour.CuratorSemaphore { // which keeps its directories
				n.ended()
			}
		})
	}
}
