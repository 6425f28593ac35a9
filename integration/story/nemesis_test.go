//go:build linux

package story_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// seedEnv repeats the choices of a run; how they fall into the workers' steps it
// cannot repeat.
const seedEnv = "ZKFENCE_SEED"

// nemesis breaks things at random around four locks with two workers each.
type nemesis struct {
	t       *testing.T
	ens     *ensemble.Ensemble
	rand    *rand.Rand
	stories []*story
	routes  [][]*ensemble.Route // of each story's workers
	table   map[string]*row
}

// row is what a kind of fault has done.
type row struct {
	times, lost, takeovers, refused int
	longest                         time.Duration
}

const (
	nemesisLocks   = 4
	nemesisTimeout = 4 * time.Second
)

func TestRandomFaults(t *testing.T) {
	seeds := []uint64{1, 2}
	if seed, err := strconv.ParseUint(os.Getenv(seedEnv), 10, 64); err == nil {
		seeds = []uint64{seed}
	}
	lasts := time.Duration(times(30, 300)) * time.Second
	for _, seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			n := &nemesis{t: t, ens: shared.Three(t), rand: rand.New(rand.NewPCG(seed, 0)), table: map[string]*row{}}
			n.run(lasts)
		})
	}
}

func (n *nemesis) run(lasts time.Duration) {
	var cycles [][]*worker.Pending
	// Short holds are many, long ones are hit while they last.
	for _, dwell := range []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond} {
		s := newStory(n.t, n.ens, nemesisTimeout, true)
		s.dwell = dwell
		var routes []*ensemble.Route
		var of []*worker.Pending
		for i := range 2 {
			route := n.ens.Route(n.t)
			routes = append(routes, route)
			of = append(of, s.begin(s.start(fmt.Sprintf("W%d", i+1), route.Addrs()...), worker.Cycle))
		}
		n.stories, n.routes, cycles = append(n.stories, s), append(n.routes, routes), append(cycles, of)
	}
	for _, s := range n.stories {
		s.await(0, "", history.Granted)
	}
	for end := time.Now().Add(lasts); time.Now().Before(end); {
		n.strike()
	}
	for i, s := range n.stories {
		s.halt(cycles[i])
		s.ended()
	}
	n.report()
}

// fault is a way to break something, and to take that back.
type fault struct {
	name    string
	on, off func() error
}

// strike breaks a server, or a client of every lock, for a while, takes that back,
// and waits until every lock has changed hands again.
func (n *nemesis) strike() {
	n.t.Helper()
	faults := make([]fault, nemesisLocks) // one and the same, or one of each lock's own
	whose := make([]string, nemesisLocks)
	if n.rand.IntN(2) == 0 {
		faults[0] = n.serverFault()
	} else {
		for i := range faults {
			who := n.victim(n.stories[i])
			whose[i] = n.stories[i].workers[who].Name()
			faults[i] = n.clientFault(n.stories[i].workers[who], n.routes[i][who])
		}
	}
	from := make([]int, nemesisLocks)
	began := worker.Now()
	for i, s := range n.stories {
		from[i] = s.log.Len()
		if faults[i].on == nil {
			faults[i].name = faults[0].name
		}
		s.fault(history.Fault, faults[i].name, whose[i])
	}
	n.each(faults, func(f fault) error { return f.on() })
	n.wait(time.Duration(n.rand.Int64N(int64(nemesisTimeout * 3 / 2))))
	n.each(faults, func(f fault) error { return f.off() })
	require.NoError(n.t, n.ens.Await(n.t.Context()))
	for i, s := range n.stories {
		s.fault(history.Healed, faults[i].name, whose[i])
	}
	for i, s := range n.stories {
		s.await(s.log.Len(), "", history.Granted)
		n.note(faults[i].name, began, s.log.Events()[from[i]:])
		if faults[i].on != nil {
			n.table[faults[i].name].times++
		}
	}
}

// victim is the worker that was granted a lock last, three times out of four.
func (n *nemesis) victim(s *story) int {
	events := s.log.Events()
	if n.rand.IntN(4) > 0 {
		for i := len(events) - 1; i >= 0; i-- {
			if events[i].Kind != history.Granted {
				continue
			}
			return slices.IndexFunc(s.workers, func(w *worker.Process) bool { return w.Name() == events[i].Worker })
		}
	}
	return n.rand.IntN(len(s.workers))
}

func (n *nemesis) each(faults []fault, do func(fault) error) {
	n.t.Helper()
	for _, f := range faults {
		if f.on != nil {
			require.NoError(n.t, do(f), f.name)
		}
	}
}

func (n *nemesis) serverFault() fault {
	ctx := n.t.Context()
	server := n.ens.Server(n.rand.IntN(len(n.ens.Servers())) + 1)
	faults := []fault{
		{"server killed", func() error { return server.Kill(ctx) }, func() error { return server.Start(ctx) }},
		{"server stopped", func() error { return server.Stop(ctx) }, func() error { return server.Start(ctx) }},
		{"server paused", func() error { return server.Pause(ctx) }, func() error { return server.Resume(ctx) }},
		{"quorum cut", func() error { return server.CutQuorum(ctx) }, func() error { return server.HealQuorum(ctx) }},
		{"leader killed", func() (err error) {
			if server, err = n.ens.Leader(ctx); err != nil {
				return err
			}
			return server.Kill(ctx)
		}, func() error { return server.Start(ctx) }},
	}
	return faults[n.rand.IntN(len(faults))]
}

func (n *nemesis) clientFault(w *worker.Process, route *ensemble.Route) fault {
	heal := func() error { route.Heal(); return nil }
	faults := []fault{
		{"worker stopped", w.Stop, w.Continue},
		{"client frozen", func() error { route.Freeze(); return nil }, heal},
		{"client cut", func() error { route.Cut(); return nil }, heal},
	}
	return faults[n.rand.IntN(len(faults))]
}

// wait is how long a fault lasts; nothing is to be seen meanwhile.
func (n *nemesis) wait(d time.Duration) {
	ctx, cancel := context.WithTimeout(n.t.Context(), d)
	defer cancel()
	<-ctx.Done()
}

// note counts what one lock has seen of a fault. A takeover is the first grant
// after a loss.
func (n *nemesis) note(name string, began time.Duration, seen []history.Event) {
	r := n.table[name]
	if r == nil {
		r = &row{}
		n.table[name] = r
	}
	lost := false
	for _, e := range seen {
		switch {
		case e.Kind == history.Lost:
			lost = true
			r.lost++
		case e.Kind == history.Granted && lost:
			lost = false
			r.takeovers++
			r.longest = max(r.longest, e.At-began)
		case e.Kind == history.Answered && !e.Answer.OK:
			r.refused++
		}
	}
}

func (n *nemesis) report() {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\ttimes\tholds lost\ttakeovers\tlongest\tcommands refused\t")
	for name, r := range n.table {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%v\t%d\t\n", name, r.times, r.lost, r.takeovers, r.longest.Round(10*time.Millisecond), r.refused)
	}
	require.NoError(n.t, w.Flush())
	granted, accepted := 0, 0
	for _, s := range n.stories {
		granted, accepted = granted+s.count("", history.Granted), accepted+s.count("", history.Accepted)
	}
	n.t.Logf("%d grants, %d accepted writes, 0 of them a step backwards\n%s", granted, accepted, &b)
}
