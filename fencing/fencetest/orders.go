package fencetest

import "math"

// everyOrder sends every sequence of three out of four commands of two owners.
func everyOrder(s *scene) {
	g := s.guard()
	commands := [][2]uint64{{10, 1}, {10, 2}, {20, 1}, {20, 2}}
	for _, a := range commands {
		for _, b := range commands {
			for _, c := range commands {
				m := s.model()
				for _, x := range [][2]uint64{a, b, c} {
					m.send(g, x[0], x[1])
				}
				m.compare(g)
				if s.Failed() {
					return // one story is enough
				}
			}
		}
	}
}

// everyPair sends every pair of commands that succeed, commands that fail, and
// raises.
func everyPair(s *scene) {
	g := s.guard()
	var steps []func(*model)
	for _, x := range [][2]uint64{{10, 1}, {10, 2}, {20, 1}, {20, 2}} {
		steps = append(steps, func(m *model) { m.send(g, x[0], x[1]) })
		if failing(s.subject) {
			steps = append(steps, func(m *model) { m.fail(g, x[0], x[1]) })
		}
	}
	for _, n := range []uint64{10, 20} {
		steps = append(steps, func(m *model) { m.raise(g, n) })
	}
	for _, first := range steps {
		for _, second := range steps {
			m := s.model()
			first(m)
			m.compare(g)
			second(m)
			m.compare(g)
			if s.Failed() {
				return
			}
		}
	}
}

// randomWalk sends to one resource what comes, through two guards.
func randomWalk(s *scene) {
	r := s.rand(0)
	guards := []Guard{s.guard(), s.guard()}
	m := s.model()
	for i := range uint64(200) {
		g := guards[r.IntN(len(guards))]
		n, seq := 10+i/10+r.Uint64N(3), 1+r.Uint64N(5)
		switch what := r.IntN(10); {
		case what == 0:
			m.raise(g, n)
		case what < 4 && failing(s.subject):
			m.fail(g, n, seq)
		default:
			m.send(g, n, seq)
		}
		if i%10 == 9 {
			m.compare(g)
		}
		if s.Failed() {
			return
		}
	}
	m.compare(guards[0])
}

// A guard that compares for equality, or starts from nothing and lets an old token
// in after a new one (case 26).
func orderNotEquality(s *scene) {
	g := s.guard()
	m := s.model()
	for _, x := range [][2]uint64{{5, 1}, {5, 1}, {5, 2}, {4, 9}, {6, 1}, {5, 3}, {5, 1}, {6, 2}, {7, 1}, {6, 3}} {
		m.send(g, x[0], x[1])
	}
	m.compare(g)

	fresh := s.model()
	fresh.send(g, 3, 1)
	fresh.send(g, 2, 1)
	fresh.compare(g)

	raised := s.model()
	raised.raise(g, 3)
	raised.send(g, 2, 1)
	raised.raise(g, 2)
	raised.compare(g)
}

// A float64 has 53 bits, a Token 63, a Seq 64; texts order 10 before 9.
func largeNumbers(s *scene) {
	g := s.guard()
	const bits53 = uint64(1) << 53
	m := s.model()
	for _, n := range []uint64{9, 10, 1<<32 - 1, 1 << 32, bits53, bits53 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		m.send(g, n, 1)
		m.send(g, n-1, 2)
		m.compare(g)
	}
	for _, seq := range []uint64{9, 10, 1 << 32, bits53, bits53 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		m.send(g, math.MaxInt64, seq)
		m.send(g, math.MaxInt64, seq) // the same
		m.send(g, math.MaxInt64, seq-1)
		m.compare(g)
	}
	if s.Failed() {
		return
	}
	// A BIGINT cannot hold these. To refuse them is fine, to take them for others
	// is not.
	for _, seq := range []uint64{math.MaxInt64 + 1, math.MaxUint64} {
		c := command(m.resource, stamp(math.MaxInt64, seq))
		ctx, cancel := s.bounded()
		_, err := g.Do(ctx, c)
		cancel()
		if err == nil {
			m.last = c.Stamp
			m.entries = append(m.entries, c.Entry)
		} else if isRefusal(err) {
			s.Errorf("%s was refused as if it were another: %v", c.Stamp, err)
		}
		m.compare(g)
	}
}
