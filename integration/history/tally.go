package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Row is what a kind of fault has done.
type Row struct {
	Injected  int
	Lost      int           // holds
	Takeovers int           // grants to another, next after such a loss
	Longest   time.Duration // from the fault to such a takeover
	Refused   int           // stale writes
	Backwards int           // steps of what a resource has accepted
}

// Add adds what the same kind of fault has done elsewhere.
func (r *Row) Add(other Row) {
	r.Injected += other.Injected
	r.Lost += other.Lost
	r.Takeovers += other.Takeovers
	r.Longest = max(r.Longest, other.Longest)
	r.Refused += other.Refused
	r.Backwards += other.Backwards
}

// None is the Row of what happened without a fault.
const None = "none"

// Table has a Row for each Reason of a Fault, and for None.
type Table map[string]Row

// Add adds another Table, row by row.
func (t Table) Add(other Table) {
	for name, row := range other {
		sum := t[name]
		sum.Add(row)
		t[name] = sum
	}
}

// Sum returns all rows in one.
func (t Table) Sum() (sum Row) {
	for _, row := range t {
		sum.Add(row)
	}
	return sum
}

// Tally counts what each kind of fault in a history has done. What happens is put
// down to the latest fault that began before and acts, or was healed no longer than
// grace ago, on the worker that it happens to, or else to the latest one on all.
// That is a guess where faults overlap.
func Tally(events []Event, grace time.Duration) Table {
	events = slices.Clone(events)
	broken := backwards(events)
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	b, t := gather(events), tally{table: Table{}, grace: grace}
	t.faults = b.faults
	for _, f := range b.faults {
		t.count(f.name, Row{Injected: 1})
	}
	for _, holds := range b.holds() {
		t.takeovers(b, holds)
	}
	t.refusals(events)
	for _, v := range broken {
		t.count(t.cause("", v.At).name, Row{Backwards: 1})
	}
	return t.table
}

type tally struct {
	table  Table
	faults []*fault // in the order in which they began
	grace  time.Duration
}

func (t *tally) count(name string, r Row) { t.table.Add(Table{name: r}) }

// cause is what explains something that happened to a worker, or to all: rather its
// own fault than one of all.
func (t *tally) cause(worker string, at time.Duration) *fault {
	cause := &fault{name: None, from: at}
	for _, f := range slices.Backward(t.faults) {
		switch {
		case !f.acts(at, t.grace):
		case f.worker != "" && f.worker == worker:
			return f
		case cause.name == None && (f.worker == "" || worker == ""):
			cause = f
		}
	}
	return cause
}

// takeovers goes through the holds of one path, in the order of their grants. Who
// was killed in a hold has lost it without a word.
func (t *tally) takeovers(b *book, holds []*attempt) {
	for i, a := range holds {
		lost := a.lost
		if gone, killed := b.gone[a.worker]; killed && lost < 0 && a.unlocking < 0 && a.released < 0 {
			lost = gone
		}
		if lost < 0 {
			continue
		}
		r := Row{Lost: 1}
		if i+1 == len(holds) || holds[i+1].worker == a.worker {
			t.count(t.cause(a.worker, lost).name, r)
			continue
		}
		// Who was stopped learns of it when another has long been granted the lock.
		next := holds[i+1].granted
		f := t.cause(a.worker, min(lost, next))
		r.Takeovers, r.Longest = 1, next-f.from
		t.count(f.name, r)
	}
}

func (t *tally) refusals(events []Event) {
	type key struct {
		worker, resource string
		op               uint64
	}
	writes := map[key]bool{}
	for _, e := range events {
		k := key{e.Worker, e.Resource, e.Op}
		switch {
		case e.Kind == Sent && e.Command.Call == Write:
			writes[k] = true
		case e.Kind == Answered && writes[k] && e.Answer.Refused == Stale:
			t.count(t.cause(e.Worker, e.At).name, Row{Refused: 1})
		}
	}
}

// String draws the table, with a line of sums.
func (t Table) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "fault\tinjected\tholds lost\ttakeovers\tlongest takeover\tstale writes refused\taccepted steps backwards\t")
	line := func(name string, r Row) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%v\t%d\t%d\t\n", name, r.Injected, r.Lost, r.Takeovers, r.Longest.Round(10*time.Millisecond), r.Refused, r.Backwards)
	}
	names := make([]string, 0, len(t))
	for name := range t {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		line(name, t[name])
	}
	line("all", t.Sum())
	_ = w.Flush() // a Builder takes everything
	return b.String()
}
