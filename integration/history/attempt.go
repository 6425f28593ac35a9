package history

import (
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// attempt is what became of one call of Lock. Times are -1 where it did not
// happen.
type attempt struct {
	worker, path string
	id           uint64

	began, granted, unlocking, released, lost, failed time.Duration

	node    string          // the last that it enrolled with
	place   int64           // its number, or -1
	stood   time.Duration   // since when it is known to stand with it
	moves   []time.Duration // when it did so with another
	token   fencing.Token   // if granted
	trusted time.Duration   // the latest time up to which it was told that it holds
	told    bool            // that it is trusted at all
	last    time.Duration   // when it was told so last
	revived time.Duration   // when it was told so after it had ended
	reason  string          // of the loss
}

func (a *attempt) String() string { return fmt.Sprintf("%s's attempt %d", a.worker, a.id) }

// ended is when the attempt has said itself that it holds no more, or -1.
func (a *attempt) ended() time.Duration {
	if a.lost >= 0 && (a.released < 0 || a.lost < a.released) {
		return a.lost
	}
	return a.released
}

// end is when the hold's trust was over, by its own doing or by its promises.
func (a *attempt) end() time.Duration {
	end := a.trusted
	for _, t := range []time.Duration{a.unlocking, a.lost} {
		if t >= 0 && t < end {
			end = t
		}
	}
	return end
}

// fault is a time in which holds may be lost.
type fault struct {
	name, worker string
	from, to     time.Duration // to is -1 if it was never healed
	frees, stops bool
	node, path   string // what it freed, if that is told
}

// freed reports whether the fault has ended that hold. A grant that was on its way
// when its node was deleted is told later. That a waiter's was deleted frees nobody's.
func (f *fault) freed(a *attempt) bool {
	switch {
	case !f.frees || f.path != "" && f.path != a.path:
		return false
	case f.node != "":
		return f.node == a.node
	default:
		return f.from >= a.granted
	}
}

// acts reports whether the fault explains what happened at that time.
func (f *fault) acts(at, grace time.Duration) bool {
	return f.from <= at && (f.to < 0 || at <= f.to+grace)
}

// book is a history, sorted into what belongs together.
type book struct {
	attempts []*attempt // in the order in which they began
	faults   []*fault
	gone     map[string]time.Duration
	last     time.Duration
}

func gather(events []Event) *book {
	type key struct {
		worker, path string
		id           uint64
	}
	b := &book{gone: map[string]time.Duration{}}
	known := map[key]*attempt{}
	open := map[[2]string]*fault{}
	for _, e := range events {
		b.last = max(b.last, e.At)
		switch e.Kind {
		case Gone:
			b.gone[e.Worker] = e.At
		case Fault:
			f := &fault{name: e.Reason, worker: e.Worker, from: e.At, to: -1, frees: e.Frees, stops: e.Stops, node: e.Node, path: e.Path}
			k := [2]string{e.Reason, e.Worker}
			if last := open[k]; last != nil && last.to < 0 {
				last.to = e.At // or it would excuse losses for ever: one Healed is for the later
			}
			open[k] = f
			b.faults = append(b.faults, f)
		case Healed:
			if f := open[[2]string{e.Reason, e.Worker}]; f != nil {
				f.to = e.At
			}
		case Began, Enrolled, Granted, Belief, Unlocking, Released, Lost, Failed:
			k := key{e.Worker, e.Path, e.Attempt}
			a := known[k]
			if a == nil {
				a = &attempt{worker: e.Worker, path: e.Path, id: e.Attempt, began: e.At,
					granted: -1, unlocking: -1, released: -1, lost: -1, failed: -1, place: -1, stood: -1, trusted: -1, last: -1, revived: -1}
				known[k] = a
				b.attempts = append(b.attempts, a)
			}
			a.add(e)
		}
	}
	return b
}

func (a *attempt) add(e Event) {
	switch e.Kind {
	case Enrolled:
		if a.node == e.Node {
			break // told twice
		}
		if a.node != "" {
			a.moves = append(a.moves, e.At)
		}
		a.node, a.place, a.stood = e.Node, place(e.Node), e.At
	case Granted:
		a.granted, a.token = e.At, e.Token
		a.trusted = max(a.trusted, e.At)
	case Belief:
		a.told, a.last = true, e.At
		if ended := a.ended(); ended >= 0 && e.At > ended && a.revived < 0 {
			a.revived = e.At
		}
		a.trusted = max(a.trusted, e.At+e.Remaining)
	case Unlocking:
		a.unlocking = e.At
	case Released:
		a.released = e.At
	case Lost:
		a.lost, a.reason = e.At, e.Reason
	case Failed:
		a.failed = e.At
	}
}
