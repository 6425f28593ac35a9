package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// place is the number at the end of a node's name, or -1; of the nodes that have
// stood in line at one time the smaller has come first.
func place(node string) int64 {
	const digits = 10
	n, err := strconv.ParseUint(node[max(0, len(node)-digits):], 10, 63)
	if err != nil || len(node) < digits {
		return -1
	}
	return int64(n)
}

// left is when the attempt is known to stand in line no more, as far as granted.
func (a *attempt) left() time.Duration {
	if a.granted >= 0 {
		return a.granted
	}
	return a.failed // -1 if it has never ended
}

// passed wants those who have stood in line at one time to be granted by their
// nodes' numbers, whatever their tokens say. Who gave up was passed over if he
// stood there for longer than the grace time after the grant of one behind him; his
// session has to have lived, so no fault may act on it until then.
func (b *book) passed(grace time.Duration) (found []Violation) {
	lines := map[string][]*attempt{}
	for _, a := range b.attempts {
		if a.place >= 0 {
			lines[a.path] = append(lines[a.path], a)
		}
	}
	for _, line := range lines {
		slices.SortStableFunc(line, func(a, b *attempt) int { return cmp.Compare(a.stood, b.stood) })
		for i, one := range line {
			for _, other := range line[i+1:] {
				if left := one.left(); left >= 0 && other.stood >= left {
					break // and so have all that came after it
				}
				front, behind := one, other
				if one.place > other.place {
					front, behind = other, one
				}
				if one.place != other.place && b.wasPassed(front, behind, grace) {
					found = append(found, Violation{Unfair, behind.granted, fmt.Sprintf("%v (%s) was granted before %v (%s)", behind, behind.node, front, front.node)})
				}
			}
		}
	}
	return found
}

func (b *book) wasPassed(front, behind *attempt, grace time.Duration) bool {
	if behind.granted < 0 || behind.granted < front.stood {
		return false // or the front is of a rebuilt ensemble
	}
	if front.granted >= 0 {
		// Tokens in the wrong order are found by them.
		return behind.granted < front.granted && behind.token.Compare(front.token) < 0
	}
	if front.failed < behind.granted+grace { // -1: endless, or its process is gone
		return false
	}
	return !slices.ContainsFunc(b.faults, func(f *fault) bool {
		return (f.worker == "" || f.worker == front.worker) && f.from <= front.failed && (f.to < 0 || f.to+grace >= front.stood)
	})
}
