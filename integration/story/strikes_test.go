//go:build linux

package story_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the nemesis does, under the names that the history has for it.
const (
	serverKilled  = "server killed"
	serverStopped = "server stopped"
	serverPaused  = "server paused"
	leaderKilled  = "leader killed"
	quorumCut     = "quorum cut"
	workerStopped = "worker stopped"
	workerKilled  = "worker killed"
	clientFrozen  = "client frozen"
	clientCut     = "client cut"
)

// lane is where no strike begins before the one before it has been taken back. So
// there is one server at a time, and a majority, but for what it takes to come back.
type lane int

// The lanes of the workers, one of each lock's, come first.
const (
	ofTheLeader  lane = nemesisLocks // one of all workers, of whom one may lead
	ofTheServers lane = nemesisLocks + 1
	lanes             = nemesisLocks + 2
)

// strike is one fault, planned: it does not depend on what happens before.
type strike struct {
	lane     lane
	at       time.Duration // from the beginning
	lasts    time.Duration
	what     string
	whom     int  // the server, or the worker, counted in its lane
	rightful bool // strikes who holds or leads, rather, if anybody does
}

// plan is the same for the same seed.
func plan(seed uint64, lasts time.Duration) (strikes []strike) {
	for l := range lane(lanes) {
		r := rand.New(rand.NewPCG(seed, uint64(l)))
		between := func(from, to time.Duration) time.Duration { return from + time.Duration(r.Int64N(int64(to-from))) }
		// A kill is rarer: whatever else strikes a worker's lock until the session has
		// ended meets nobody who holds it.
		whats, pause := []string{workerStopped, workerStopped, clientFrozen, clientFrozen, clientCut, clientCut, workerKilled}, 2*time.Second
		if l == ofTheServers {
			whats = []string{serverKilled, serverStopped, serverPaused, leaderKilled, quorumCut}
		}
		r.Shuffle(len(whats), func(i, j int) { whats[i], whats[j] = whats[j], whats[i] })
		at := between(0, pause)
		for i := 0; ; i++ {
			s := strike{lane: l, at: at, lasts: between(0, nemesisTimeout/4), what: whats[i%len(whats)], whom: r.IntN(1 << 10), rightful: r.IntN(4) > 0}
			switch {
			case s.what == workerKilled && r.IntN(2) == 0:
				s.lasts = 0 // another takes its place at once
			case r.IntN(3) > 0:
				s.lasts = between(nemesisTimeout, nemesisTimeout*2) // a session's end, and no blip
			}
			if at = s.at + s.lasts + between(pause/4, pause); s.at+s.lasts > lasts {
				break
			}
			strikes = append(strikes, s)
		}
	}
	slices.SortStableFunc(strikes, func(a, b strike) int { return cmp.Compare(a.at, b.at) })
	return strikes
}

func TestAPlanOfRandomFaultsIsItsSeeds(t *testing.T) {
	require.NotEqual(t, plan(1, time.Minute), plan(2, time.Minute))
	for seed := range uint64(20) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			strikes := plan(seed, 30*time.Second)
			require.Equal(t, strikes, plan(seed, 30*time.Second))
			require.Greater(t, len(strikes), 20)
			kinds := map[string]int{}
			free := map[lane]time.Duration{}
			for _, s := range strikes {
				kinds[s.what]++
				require.GreaterOrEqual(t, s.at, free[s.lane])
				free[s.lane] = s.at + s.lasts
			}
			for _, what := range []string{workerStopped, clientFrozen, clientCut} {
				require.Greater(t, kinds[what], 2, what)
			}
			require.NotZero(t, kinds[workerKilled])
			require.Greater(t, kinds[serverKilled]+kinds[serverStopped]+kinds[serverPaused]+kinds[leaderKilled]+kinds[quorumCut], 2)
		})
	}
}
