//go:build linux

package story_test

import (
	"cmp"
	"context"
	"fmt"
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
	"github.com/zkfence/zkfence/zktest"
)

const (
	few, many      = 300, 3000
	crowdProcesses = 30
	tired, atOnce  = 1000, 100

	// crowdSession is the most that the servers grant. No session may be lost or
	// connect again here, or the requests that that takes would be counted too; and
	// thirty processes and three servers on two busy cores keep each other waiting
	// for seconds. Nobody is ended by it, so that it costs no time.
	crowdSession = time.Minute
	// crowdPatience bounds a wait for the whole crowd.
	crowdPatience = 4 * time.Minute
)

// What a waiter may take of its process, several times what it does. A list of all
// who wait, kept by each, would be 150 KiB.
const (
	heapPerWaiter     = 16 << 10
	residentPerWaiter = 64 << 10
)

// What an attempt that has given up may leave behind: less than a watch that is kept,
// with its path.
const heapPerTired = 128

// Sequence 11: three thousand wait for one key in thirty processes. A release wakes
// one of them, whatever their number, and waiting takes no memory to speak of.
//
// By what the servers, and proxies in front of them, have counted, a waiter costs:
//
//   - to come: a create; one read each of its own node and of the one in front,
//     unless its session has that already, which arm the watches; a list, or a part
//     in one that its session asks for.
//   - to take over: an event, a proof (multi) and a list.
//   - to let go: a delete, and the event of its own node.
func TestAReleaseWakesOneOfThreeThousand(t *testing.T) {
	c := newCrowd(t)
	base := c.counted(c.ens.Server(1))[znodes]
	small := c.round(few)
	c.tires()
	large := c.round(many)

	// The first round has also brought the code into memory.
	require.Less(t, large.heap, float64(heapPerWaiter))
	require.Less(t, large.resident, float64(residentPerWaiter))
	require.InDelta(t, small.perRelease(), large.perRelease(), 0.05, "ten times the crowd makes a release no dearer")
	t.Logf("requests at the servers, by proxies; events by the servers themselves\n%s", table(small, large))
	require.Equal(t, crowdProcesses+1, c.sums(c.route)[zktest.OpCreateSession], "nobody has connected again")

	c.ended()
	require.Zero(t, c.count("", history.Lost))
	c.settles("nothing is left", func(n counters) bool { return n[watches] == 0 && n[ephemerals] == 0 && n[znodes] <= base })
}

// crowd is a lock that one process holds while many wait behind it, in few
// processes with one session each.
type crowd struct {
	*story
	route   *ensemble.Route // everybody's
	holder  *worker.Process
	members []*worker.Process
}

func newCrowd(t *testing.T) *crowd {
	t.Helper()
	s := newStory(t, shared.Three(t), crowdSession, true)
	c := &crowd{story: s, route: s.ens.Route(t)}
	s.settles("the stories before have ended", func(n counters) bool { return n[watches] == 0 && n[ephemerals] == 0 })
	c.holder = s.start("holder", c.route.Addrs()...)
	for i := range crowdProcesses {
		c.members = append(c.members, s.start(fmt.Sprintf("W%02d", i+1), c.route.Addrs()...))
	}
	return c
}

// order has some do the same at once, and waits until all have done it.
func (c *crowd) order(whom []*worker.Process, do string, value int) (done []worker.Done) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), crowdPatience)
	defer cancel()
	var pending []*worker.Pending
	for _, p := range whom {
		o, err := p.Begin(do, strconv.Itoa(value))
		require.NoError(c.t, err)
		pending = append(pending, o)
	}
	for _, o := range pending {
		d, err := o.Wait(ctx)
		require.NoError(c.t, err)
		done = append(done, d)
	}
	return done
}

// weigh adds up what some take.
func (c *crowd) weigh(whom ...*worker.Process) (sum worker.Weight) {
	c.t.Helper()
	for _, d := range c.order(whom, worker.Weigh, 0) {
		sum.Resident += d.Weight.Resident
		sum.Heap += d.Weight.Heap
		sum.Goroutines += d.Weight.Goroutines
	}
	return sum
}

// phase is what something has taken.
type phase struct {
	took   time.Duration
	asked  sums
	server counters
}

func (c *crowd) measure(do func()) phase {
	c.t.Helper()
	asked, server, began := c.sums(c.route), c.atServers(), time.Now()
	do()
	p := phase{time.Since(began), since(asked, c.sums(c.route)), since(server, c.atServers())}
	// The servers have received that, and our own question after it, and nothing
	// from anybody else. A ping of each session can have been between the two.
	ours := p.asked[zktest.AnyOp] + p.asked[zktest.OpPing] + p.asked[zktest.OpCreateSession] + len(c.ens.Servers())
	require.InDelta(c.t, ours, p.server[received], crowdProcesses+1)
	return p
}

// round is a crowd that has come, waited and held in turn.
type round struct {
	n              int
	came, left     phase
	heap, resident float64 // bytes per waiter
}

func (r round) perRelease() float64 { return float64(r.left.asked[zktest.AnyOp]) / float64(r.n+1) }

func (c *crowd) round(n int) (r round) {
	c.t.Helper()
	from := c.log.Len()
	before := c.weigh(c.members...)
	c.must(c.holder, worker.Lock)

	r.n = n
	r.came = c.measure(func() { c.order(c.members, worker.Crowd, n/crowdProcesses) })
	expected := c.watchesOf(from, n+1)
	require.Equal(c.t, expected, c.atServers()[watches], "of each on its own node and the one in front, one per session")
	require.Equal(c.t, n, r.came.asked[zktest.OpCreate])
	require.Equal(c.t, expected-1, r.came.asked[zktest.OpGetData], "one for each watch, but for the holder's")
	require.LessOrEqual(c.t, r.came.asked[zktest.OpGetChildren2], n)
	c.settles("all wait", func(s counters) bool { return s[ephemerals] == n+1 })
	require.Equal(c.t, 1, c.grants(from), "the holder's")
	waiting := c.weigh(c.members...)
	r.heap = float64(waiting.Heap-before.Heap) / float64(n)
	r.resident = float64(waiting.Resident-before.Resident) / float64(n)

	r.left = c.measure(func() {
		c.must(c.holder, worker.Unlock)
		c.order(c.members, worker.Disperse, 0)
	})
	require.Equal(c.t, n+1, c.grants(from), "one for each")
	require.Zero(c.t, c.atServers()[watches])
	// A release wakes one: each node's end is told to its own session and to that of
	// the next, if it is another, and to nobody else.
	require.Equal(c.t, expected, r.left.server[deletedEvents])
	for _, events := range []string{createdEvents, changedEvents, childrenEvents} {
		require.Zero(c.t, r.left.server[events], events)
	}
	require.Equal(c.t, n+1, r.left.asked[zktest.OpDelete])
	require.Equal(c.t, n, r.left.asked[zktest.OpGetChildren2], "one by each who is woken")
	// And a keeper's, every eighth of a session timeout for as long as somebody holds;
	// the holder's may just have been due.
	kept := 1 + int(r.left.took/(crowdSession/8))
	require.GreaterOrEqual(c.t, r.left.asked[zktest.OpMulti], n, "one by each who is woken")
	require.LessOrEqual(c.t, r.left.asked[zktest.OpMulti], n+kept)
	require.Equal(c.t, r.left.asked[zktest.OpDelete]+r.left.asked[zktest.OpGetChildren2]+r.left.asked[zktest.OpMulti],
		r.left.asked[zktest.AnyOp], "and nothing else is asked")
	return r
}

// grants counts those since from, none of which may be a second one.
func (c *crowd) grants(from int) int {
	c.t.Helper()
	type attempt struct {
		worker string
		id     uint64
	}
	seen := map[attempt]bool{}
	for _, e := range c.log.Events()[from:] {
		if e.Kind == history.Granted {
			a := attempt{e.Worker, e.Attempt}
			require.NotContains(c.t, seen, a)
			seen[a] = true
		}
	}
	return len(seen)
}

// watchesOf returns how many watches those who have enrolled since from have on
// each other, if each is watched by its own session and by that of the next. They
// have to be n.
func (c *crowd) watchesOf(from, n int) (sum int) {
	c.t.Helper()
	var line []history.Event
	for _, e := range c.log.Events()[from:] {
		if e.Kind == history.Enrolled {
			line = append(line, e)
		}
	}
	require.Len(c.t, line, n)
	number := func(e history.Event) string { return e.Node[strings.LastIndexByte(e.Node, '-'):] }
	slices.SortFunc(line, func(a, b history.Event) int { return cmp.Compare(number(a), number(b)) })
	for i, e := range line {
		if sum++; i > 0 && line[i-1].Worker != e.Worker {
			sum++
		}
	}
	return sum
}

// tires has attempts give up behind one long hold, after as many at once as there
// will be again: a process keeps the room that it once needed.
func (c *crowd) tires() {
	c.t.Helper()
	w := c.members[:1]
	c.must(c.holder, worker.Lock)
	for range 3 {
		c.order(w, worker.Tire, atOnce)
	}
	before, watched := c.weigh(w...), c.atServers()[watches]
	require.Equal(c.t, 2, watched, "of the holder and of the first in line, on the holder's node")
	from := c.log.Len()
	for range tired / atOnce {
		c.order(w, worker.Tire, atOnce)
	}
	after := c.weigh(w...)
	failed := slices.DeleteFunc(c.log.Events()[from:], func(e history.Event) bool { return e.Kind != history.Failed })
	require.Len(c.t, failed, tired)
	require.Equal(c.t, watched, c.atServers()[watches])
	c.settles("the holder is alone", func(s counters) bool { return s[ephemerals] == 1 })
	require.Less(c.t, after.Heap-before.Heap, int64(tired*heapPerTired))
	require.Less(c.t, after.Resident-before.Resident, int64(residentPerWaiter*atOnce), "as for those who are there at once")
	require.Less(c.t, after.Goroutines, before.Goroutines+tired/10)
	c.t.Logf("%d attempts that gave up left %d bytes of heap, %d KiB resident", tired, after.Heap-before.Heap, (after.Resident-before.Resident)>>10)
	c.must(c.holder, worker.Unlock)
	require.Zero(c.t, c.atServers()[watches])
}

func table(rounds ...round) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "waiters\t\ttime\tcreate\tread\tlist\tproof\tdelete\tping\tevents\tper release\theap each\tresident each\t")
	for _, r := range rounds {
		row := func(what string, p phase, rest string) {
			n := p.asked
			fmt.Fprintf(w, "%d\t%s\t%v\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t\n", r.n, what, p.took.Round(10*time.Millisecond),
				n[zktest.OpCreate], n[zktest.OpGetData], n[zktest.OpGetChildren2], n[zktest.OpMulti], n[zktest.OpDelete], n[zktest.OpPing],
				p.server[deletedEvents], rest)
		}
		row("come", r.came, fmt.Sprintf("\t%.1f KiB\t%.1f KiB", r.heap/1024, r.resident/1024))
		row("hold", r.left, fmt.Sprintf("%.2f\t\t", r.perRelease()))
	}
	// A Builder takes everything.
	_ = w.Flush()
	return b.String()
}
