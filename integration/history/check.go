package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Rule names what a Violation breaks, as the package doc says.
type Rule string

// The rules.
const (
	Backwards       Rule = "backwards"
	Unowned         Rule = "unowned"
	Unkept          Rule = "unkept"
	Overlap         Rule = "overlap"
	Causeless       Rule = "causeless"
	Revived         Rule = "revived"
	Unfair          Rule = "unfair"
	Orphan          Rule = "orphan"
	Endless         Rule = "endless"
	NotLinearizable Rule = "not linearizable"
)

// Violation is one rule broken once.
type Violation struct {
	Rule Rule
	At   time.Duration
	Text string
}

func (v Violation) String() string {
	return fmt.Sprintf("%v: %s: %s", v.At, v.Rule, v.Text)
}

// Check judges a whole history, in any order but for Accepted events, which stand
// in the order of acceptance. grace is how long after a fault was healed a hold may
// still be lost by it: a session timeout, and what the ensemble takes to recover.
// It returns every violation, in the order of time.
func Check(events []Event, grace time.Duration) []Violation {
	found := backwards(events)
	inOrder := slices.Clone(events)
	slices.SortStableFunc(inOrder, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	b := gather(inOrder)
	found = append(found, b.unowned(inOrder)...)
	found = append(found, unkept(inOrder)...)
	found = append(found, b.overlaps(grace)...)
	found = append(found, b.losses(grace)...)
	found = append(found, b.moves(grace)...)
	found = append(found, b.revived(grace)...)
	found = append(found, b.unfair(grace)...)
	found = append(found, b.passed(grace)...)
	found = append(found, b.endless()...)
	found = append(found, linearizable(inOrder)...)
	for _, e := range inOrder {
		if e.Kind == Leftover {
			found = append(found, Violation{Orphan, e.At, e.Path + "/" + e.Node})
		}
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return cmp.Compare(a.At, b.At) })
	return found
}

// backwards goes by what was accepted alone, in the resource's own order.
func backwards(events []Event) (found []Violation) {
	newest := map[string]fencing.Stamp{} // by resource
	for _, e := range events {
		if e.Kind == Override {
			newest[e.Resource] = e.Stamp
		}
		if e.Kind != Accepted {
			continue
		}
		if last := newest[e.Resource]; e.Stamp.Compare(last) <= 0 {
			found = append(found, Violation{Backwards, e.At, fmt.Sprintf("%v accepted after %v", e.Stamp, last)})
			continue
		}
		newest[e.Resource] = e.Stamp
	}
	return found
}
