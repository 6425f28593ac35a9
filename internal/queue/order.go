package queue

import "math"

// standing is one contender's place among those of one list.
type standing struct {
	ahead       int    // contenders in front
	predecessor string // the nearest of them; "" when first
}

// sequenced reports whether sequence numbers alone say who came first. They do
// not where two are alike, and not where the counter is past its end: it then
// sticks at MaxInt32 (ZooKeeper 3.6 and later) or wraps to negative numbers
// (before).
func sequenced(contenders []Name) bool {
	seen := make(map[int64]struct{}, len(contenders))
	for _, n := range contenders {
		if n.Seq < 0 || n.Seq == math.MaxInt32 {
			return false
		}
		if _, tie := seen[n.Seq]; tie {
			return false
		}
		seen[n.Seq] = struct{}{}
	}
	return true
}

// bySequence places own among contenders, which may include it.
func bySequence(contenders []Name, own Name) standing {
	return place(contenders, own, func(a, b Name) bool { return a.Seq < b.Seq })
}

// byCzxid places own among contenders by the transactions that created them.
// One without a Czxid was gone when it was asked for, and is in nobody's way.
func byCzxid(contenders []Name, own Name, czxid map[string]int64) standing {
	alive := make([]Name, 0, len(contenders))
	for _, n := range contenders {
		if _, ok := czxid[n.Child]; ok {
			alive = append(alive, n)
		}
	}
	return place(alive, own, func(a, b Name) bool { return earlier(a, b, czxid) })
}

// earlier is a total order: a foreign client's multi can create two nodes in
// one transaction, never two of ours.
func earlier(a, b Name, czxid map[string]int64) bool {
	if x, y := czxid[a.Child], czxid[b.Child]; x != y {
		return x < y
	}
	if a.Seq != b.Seq {
		return a.Seq < b.Seq
	}
	return a.Child < b.Child
}

func place(contenders []Name, own Name, before func(a, b Name) bool) standing {
	var s standing
	var nearest Name
	for _, n := range contenders {
		if n.Child == own.Child || !before(n, own) {
			continue
		}
		if s.ahead == 0 || before(nearest, n) {
			nearest = n
		}
		s.ahead++
	}
	s.predecessor = nearest.Child
	return s
}
