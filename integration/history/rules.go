package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// holds returns the granted attempts of each path, in the order of their grants.
func (b *book) holds() map[string][]*attempt {
	holds := map[string][]*attempt{}
	for _, a := range b.attempts {
		if a.granted >= 0 {
			holds[a.path] = append(holds[a.path], a)
		}
	}
	for _, of := range holds {
		slices.SortStableFunc(of, func(a, b *attempt) int { return cmp.Compare(a.granted, b.granted) })
	}
	return holds
}

// late reports whether next was granted before first, by their tokens, and has told
// it after: its process was stopped in between, and when it went on its trust was
// over, so that it was never told of any.
func (b *book) late(next, first *attempt, grace time.Duration) bool {
	return !next.told && next.token.Compare(first.token) < 0 && slices.ContainsFunc(b.faults, func(f *fault) bool {
		return f.stops && f.worker == next.worker && f.from <= first.granted && f.acts(next.granted, grace)
	})
}

func (b *book) overlaps(grace time.Duration) (found []Violation) {
	for _, holds := range b.holds() {
		for i, first := range holds {
			end := first.end()
			for _, f := range b.faults {
				if f.freed(first) {
					end = min(end, max(f.from, first.granted))
				}
			}
			for _, next := range holds[i+1:] {
				if next.granted >= end {
					break
				}
				if b.late(next, first, grace) {
					continue
				}
				found = append(found, Violation{Overlap, next.granted, fmt.Sprintf(
					"%v of %s was granted %v before the trust of %v was over", next, next.path, end-next.granted, first)})
			}
		}
	}
	return found
}

// losses wants a cause for each.
func (b *book) losses(grace time.Duration) (found []Violation) {
	for _, a := range b.attempts {
		if a.lost < 0 {
			// One that is given back before it was trusted was not wanted any more.
			if a.told && a.released >= 0 && a.unlocking < 0 {
				found = append(found, Violation{Causeless, a.released, fmt.Sprintf("%v of %s was over, neither unlocked nor lost", a, a.path)})
			}
			continue
		}
		caused := slices.ContainsFunc(b.faults, func(f *fault) bool {
			return (f.worker == "" || f.worker == a.worker) && (f.node == "" || f.node == a.node) && f.acts(a.lost, grace)
		})
		if !caused {
			found = append(found, Violation{Causeless, a.lost, fmt.Sprintf("%v of %s was lost: %s", a, a.path, a.reason)})
		}
	}
	return found
}

// moves wants a cause for each place in line that was lost. What cuts one server or
// one worker off can cost others their sessions, and who holds nothing was promised
// nothing: any fault will do. Once it is healed the session has the grace time to
// end, and the next one as long to be there.
func (b *book) moves(grace time.Duration) (found []Violation) {
	for _, a := range b.attempts {
		for _, at := range a.moves {
			if !slices.ContainsFunc(b.faults, func(f *fault) bool { return f.acts(at, 2*grace) }) {
				found = append(found, Violation{Causeless, at, fmt.Sprintf("%v of %s has lost its place and stands with %s", a, a.path, a.node)})
			}
		}
	}
	return found
}

// revived looks at what was told after the end: by the holder's own word, or after
// its node was deleted and it has had the grace time to learn of it.
func (b *book) revived(grace time.Duration) (found []Violation) {
	for _, a := range b.attempts {
		if a.revived >= 0 {
			found = append(found, Violation{Revived, a.revived, fmt.Sprintf("%v of %s was trusted %v after it had ended", a, a.path, a.revived-a.ended())})
			continue
		}
		for _, f := range b.faults {
			if a.granted >= 0 && f.freed(a) && a.last > max(f.from, a.granted)+grace {
				found = append(found, Violation{Revived, a.last, fmt.Sprintf("%v of %s was trusted %v after %s had freed it", a, a.path, a.last-f.from, f.name)})
				break
			}
		}
	}
	return found
}

// command is what an owner sends once, however often.
type command struct {
	resource string
	stamp    fencing.Stamp
}

// unowned wants somebody to have sent each accepted command who was granted its
// token. Who holds tells of the grant before he sends anything.
func (b *book) unowned(events []Event) (found []Violation) {
	type owner struct {
		worker string
		token  fencing.Token
	}
	owners := map[owner]time.Duration{} // since when
	for _, a := range b.attempts {
		if a.granted >= 0 {
			owners[owner{a.worker, a.token}] = a.granted
		}
	}
	rightful := map[command]bool{}
	for _, e := range events {
		if e.Kind != Sent {
			continue
		}
		if since, ok := owners[owner{e.Worker, e.Command.Stamp.Token}]; ok && since <= e.At {
			rightful[command{e.Resource, e.Command.Stamp}] = true
		}
	}
	for _, e := range events {
		if e.Kind == Accepted && !rightful[command{e.Resource, e.Stamp}] {
			found = append(found, Violation{Unowned, e.At, fmt.Sprintf("%v accepted, which nobody has sent who was granted its token", e.Stamp)})
		}
	}
	return found
}

// unkept wants the resource to have accepted each write that it has answered with OK.
func unkept(events []Event) (found []Violation) {
	type op struct {
		worker, resource string
		op               uint64
	}
	sent := map[op]fencing.Stamp{}
	kept := map[command]bool{}
	for _, e := range events {
		switch {
		case e.Kind == Sent && e.Command.Call == Write:
			sent[op{e.Worker, e.Resource, e.Op}] = e.Command.Stamp
		case e.Kind == Accepted:
			kept[command{e.Resource, e.Stamp}] = true
		}
	}
	for _, e := range events {
		if e.Kind != Answered || !e.Answer.OK {
			continue
		}
		if stamp, ok := sent[op{e.Worker, e.Resource, e.Op}]; ok && !kept[command{e.Resource, stamp}] {
			found = append(found, Violation{Unkept, e.At, fmt.Sprintf("%s was told that %v is accepted, and the resource has not accepted it", e.Worker, stamp)})
		}
	}
	return found
}

// unfair goes by the tokens: a node's is the zxid at which it was created, so it is
// the order in which contenders came, and who is granted with the node that it came
// with had a session that lived. A rebuilt ensemble counts zxids anew: what comes
// after is another history.
func (b *book) unfair(grace time.Duration) (found []Violation) {
	for _, holds := range b.holds() {
		for i, first := range holds {
			for _, next := range holds[i+1:] {
				if next.token.Compare(first.token) <= 0 && !b.late(next, first, grace) {
					found = append(found, Violation{Unfair, first.granted, fmt.Sprintf(
						"%v (%v, %s) was granted before %v (%v, %s)", first, first.token, first.node, next, next.token, next.node)})
				}
			}
		}
	}
	return found
}

func (b *book) endless() (found []Violation) {
	for _, a := range b.attempts {
		if _, gone := b.gone[a.worker]; gone {
			continue
		}
		open := ""
		switch {
		case a.granted < 0 && a.failed < 0:
			open = "waits for ever"
		case a.granted >= 0 && a.unlocking < 0 && a.lost < 0 && a.released < 0:
			open = "holds for ever"
		case a.unlocking >= 0 && a.lost < 0 && a.released < 0:
			open = "is being released for ever"
		default:
			continue
		}
		found = append(found, Violation{Endless, b.last, fmt.Sprintf("%v of %s %s", a, a.path, open)})
	}
	return found
}
