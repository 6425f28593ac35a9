//go:build linux

package story_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// seedEnv repeats the choices of a run; how they fall into the workers' steps it
// cannot repeat.
const seedEnv = "ZKFENCE_SEED"

const (
	nemesisLocks   = 4
	nemesisTimeout = 4 * time.Second
)

// nemesis breaks things at random around four locks, with two workers each, and one
// election, for which all eight stand.
type nemesis struct {
	*story
	seats []*seat
}

// seat is a worker, and whoever takes its place when it has been killed.
type seat struct {
	lock    int
	path    string
	serve   func()          // points the story at the lock
	route   *ensemble.Route // to the ensemble, its own
	process *worker.Process
	killed  int // those before it
	cycle   *worker.Pending
	lead    *worker.Pending
	struck  bool
}

func TestRandomFaults(t *testing.T) {
	seeds := []uint64{1, 2}
	if seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	lasts := time.Duration(times(30, 300)) * time.Second
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Logf("%s=%d", seedEnv, seed)
			n := newNemesis(t)
			from := n.log.Len()
			n.strike(plan(seed, lasts), lasts)
			n.endsWell(from, lasts)
		})
	}
}

func newNemesis(t *testing.T) *nemesis {
	n := &nemesis{story: newStory(t, shared.Three(t), nemesisTimeout, true)}
	// A term lasts longer than it takes to be Suspect, or a leader that is cut off would
	// resign before it has lost.
	n.elects(300 * time.Millisecond)
	root := n.path
	// Short holds are many, long ones are hit while they last.
	for lock, dwell := range []time.Duration{50 * time.Millisecond, 100 * time.Millisecond, 600 * time.Millisecond, 1500 * time.Millisecond} {
		path, store := fmt.Sprintf("%s-%d", root, lock+1), n.serve(true)
		n.also = append(n.also, path)
		for range 2 {
			n.seats = append(n.seats, &seat{
				lock: lock, path: path, route: n.ens.Route(t),
				serve: func() { n.path, n.store, n.dwell = path, store, dwell },
			})
		}
	}
	for i := range n.seats {
		n.sit(i)
	}
	n.allGranted()
	return n
}

// sit starts a worker on a seat.
func (n *nemesis) sit(i int) {
	n.t.Helper()
	s := n.seats[i]
	s.serve()
	name := fmt.Sprintf("W%d", i+1)
	if s.killed > 0 {
		name = fmt.Sprintf("W%d.%d", i+1, s.killed)
	}
	s.process = n.start(name, s.route.Addrs()...)
	s.lead = n.begin(s.process, worker.Lead) // first: what is ordered after a Cycle waits for its end
	s.cycle = n.begin(s.process, worker.Cycle)
}

// allGranted waits until each lock has changed hands, and somebody leads, from now on.
func (n *nemesis) allGranted() {
	n.t.Helper()
	from := n.log.Len()
	for _, path := range n.also {
		_, err := n.log.Await(n.within(), from, func(e history.Event) bool { return e.Kind == history.Granted && e.Path == path })
		require.NoError(n.t, err, "%s is granted", path)
	}
}

// strike carries out a plan, each step no sooner than planned.
func (n *nemesis) strike(strikes []strike, lasts time.Duration) {
	n.t.Helper()
	began := time.Now()
	var atServers, atWorkers []strike
	for _, s := range strikes {
		if s.lane == ofTheServers {
			atServers = append(atServers, s)
		} else {
			atWorkers = append(atWorkers, s)
		}
	}
	var servers sync.WaitGroup
	var err error
	n.t.Cleanup(servers.Wait) // also where the test has failed meanwhile, which ends its context
	servers.Go(func() { err = n.strikeServers(atServers, began, lasts) })
	n.strikeWorkers(atWorkers, began)
	servers.Wait()
	require.NoError(n.t, err)
}

// strikeServers strikes no server before all serve again, or there would be no
// majority most of the time; what is late then is left out in the end.
func (n *nemesis) strikeServers(strikes []strike, began time.Time, lasts time.Duration) error {
	for _, s := range strikes {
		n.wait(time.Until(began.Add(s.at)))
		if err := n.ens.Await(n.t.Context()); err != nil {
			return err
		}
		if time.Since(began)+s.lasts > lasts {
			break
		}
		heal, err := n.atServer(s)
		if err != nil {
			return err
		}
		n.wait(s.lasts)
		if err := heal(); err != nil {
			return err
		}
	}
	return n.ens.Await(n.t.Context())
}

// strikeWorkers does one thing at a time, and so some of them later than planned.
func (n *nemesis) strikeWorkers(strikes []strike, began time.Time) {
	n.t.Helper()
	type step struct {
		at time.Duration
		do func()
	}
	var back []step // what is to be taken back, the first to be first
	due := func(until time.Duration) {
		for len(back) > 0 && back[0].at <= until {
			n.wait(time.Until(began.Add(back[0].at)))
			back[0].do()
			back = back[1:]
		}
	}
	last := time.Duration(0)
	for _, s := range strikes {
		due(s.at)
		n.wait(time.Until(began.Add(s.at)))
		who := n.victim(s)
		if who < 0 {
			continue // nobody is left to be struck
		}
		b := step{s.at + s.lasts, n.atWorker(who, s)}
		if s.lasts == 0 {
			b.do()
			continue
		}
		i, _ := slices.BinarySearchFunc(back, b, func(a, b step) int { return cmp.Compare(a.at, b.at) })
		back, last = slices.Insert(back, i, b), max(last, b.at)
	}
	due(last)
}

// victim is who sits where the strike goes and is not struck yet; -1 is nobody.
func (n *nemesis) victim(s strike) int {
	path := n.election
	var may []int
	for i, seat := range n.seats {
		if seat.struck || s.lane != ofTheLeader && seat.lock != int(s.lane) {
			continue
		}
		may = append(may, i)
		if s.lane != ofTheLeader {
			path = seat.path
		}
	}
	if len(may) == 0 {
		return -1
	}
	if s.rightful {
		holder := n.holder(path)
		if i := slices.IndexFunc(may, func(i int) bool { return n.seats[i].process.Name() == holder }); i >= 0 {
			return may[i]
		}
	}
	return may[s.whom%len(may)]
}

// holder is who holds a lock or leads, as far as it is known; empty if nobody does.
func (n *nemesis) holder(path string) (worker string) {
	for _, e := range n.log.Events() {
		switch {
		case e.Kind == history.Granted && e.Path == path:
			worker = e.Worker
		case e.Worker != worker:
		case e.Kind == history.Gone, e.Path == path && (e.Kind == history.Unlocking || e.Kind == history.Lost):
			worker = ""
		}
	}
	return worker
}

// atWorker strikes who sits there, and returns what takes that back.
func (n *nemesis) atWorker(who int, s strike) func() {
	n.t.Helper()
	seat := n.seats[who]
	seat.struck = true
	process := seat.process
	heal := func() {
		seat.route.Heal()
		n.fault(history.Healed, s.what, process.Name())
	}
	var back func()
	switch s.what {
	case workerStopped:
		require.NoError(n.t, process.Stop())
		back = func() { require.NoError(n.t, process.Continue()) }
	case workerKilled:
		require.NoError(n.t, process.Kill())
		n.workers = slices.DeleteFunc(n.workers, func(p *worker.Process) bool { return p == process })
		back = func() {
			seat.killed++
			n.sit(who)
		}
	case clientFrozen:
		n.fault(history.Fault, s.what, process.Name())
		seat.route.Freeze()
		back = heal
	case clientCut:
		n.fault(history.Fault, s.what, process.Name())
		seat.route.Cut()
		back = heal
	default:
		require.FailNow(n.t, "no fault of a worker", s.what)
	}
	return func() {
		seat.struck = false
		back()
	}
}

// atServer breaks a server and returns what brings it back.
func (n *nemesis) atServer(s strike) (heal func() error, err error) {
	ctx := n.t.Context()
	server := n.ens.Server(s.whom%len(n.ens.Servers()) + 1)
	if s.what == leaderKilled {
		if server, err = n.ens.Leader(ctx); err != nil {
			return nil, err
		}
	}
	on, off := server.Kill, server.Start
	switch s.what {
	case serverStopped:
		on = server.Stop
	case serverPaused:
		on, off = server.Pause, server.Resume
	case quorumCut:
		on, off = server.CutQuorum, server.HealQuorum
	}
	n.fault(history.Fault, s.what, "")
	if err := on(ctx); err != nil {
		return nil, err
	}
	return func() error {
		defer n.fault(history.Healed, s.what, "")
		return off(ctx)
	}, nil
}

// wait is for a time that is planned; nothing is to be seen meanwhile.
func (n *nemesis) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(n.t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

// calm waits until everybody who is left has held once more, and somebody leads, and
// for so long that the last fault excuses no loss any more: one that is without a
// cause shows up here, for while faults strike there is always one to blame.
func (n *nemesis) calm() {
	n.t.Helper()
	from, healed := n.log.Len(), time.Now()
	for _, s := range n.seats {
		_, err := n.log.Await(n.within(), from, func(e history.Event) bool {
			return e.Kind == history.Granted && e.Path == s.path && e.Worker == s.process.Name()
		})
		require.NoError(n.t, err, "%s is granted %s", s.process.Name(), s.path)
	}
	_, err := n.log.Await(n.within(), from, func(e history.Event) bool { return e.Kind == history.Granted && e.Path == n.election })
	require.NoError(n.t, err, "somebody leads")
	n.wait(time.Until(healed.Add(n.grace() + n.timeout)))
}

// endsWell wants a calm after the strikes, an end without a violation, and that
// something has happened at all, from an index of the log on.
func (n *nemesis) endsWell(from int, lasts time.Duration) {
	n.t.Helper()
	struck := n.log.Len()
	n.calm()
	for _, s := range n.seats {
		require.NoError(n.t, s.process.Halt())
	}
	for _, s := range n.seats {
		for _, pending := range []*worker.Pending{s.cycle, s.lead} {
			_, err := pending.Wait(n.within())
			require.NoError(n.t, err)
		}
	}
	n.ended()
	table := history.Tally(n.log.Events(), n.grace())
	n.t.Logf("%v\n%v", n, table)

	halfMinutes, sum := int(lasts/(30*time.Second)), table.Sum()
	granted := map[string]int{}
	for _, e := range n.log.Events()[from:struck] {
		if e.Kind == history.Granted {
			granted[e.Path]++
		}
	}
	for _, path := range n.also {
		require.Greater(n.t, granted[path], 2*(halfMinutes-1), "grants of %s meanwhile", path)
	}
	for _, what := range []string{workerStopped, workerKilled, clientFrozen, clientCut} {
		require.NotZero(n.t, table[what].Injected, what)
	}
	servers := 0
	for _, what := range []string{serverKilled, serverStopped, serverPaused, leaderKilled, quorumCut} {
		require.GreaterOrEqual(n.t, table[what].Injected, times(0, 1), what) // not all of them fit into a short form
		servers += table[what].Injected
	}
	require.NotZero(n.t, servers, "faults of servers")
	require.GreaterOrEqual(n.t, sum.Refused, times(0, 1), "stale writes refused")
	require.Greater(n.t, sum.Injected, 20*halfMinutes, "faults")
	require.Greater(n.t, sum.Lost, 3*halfMinutes, "holds and terms lost")
	require.Greater(n.t, sum.Takeovers, 3*halfMinutes, "takeovers")
	require.Greater(n.t, n.count("", history.Gone), halfMinutes, "workers killed")
	require.Greater(n.t, n.count("", history.Accepted), 50*halfMinutes, "accepted writes")
}
