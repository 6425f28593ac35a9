package zktest_test

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// maxLinks is how many connections a script has at most.
const maxLinks = 5

// generator makes a script from a seed. It guesses which connections stand; a
// script with a step on one that does not is no wrong one.
type generator struct {
	*rand.Rand
	up   map[int]bool
	had  map[int]int // the session that a connection has or had, from 1
	dead map[int]bool
	born int      // sessions
	tree []string // znodes that there may be
	slow bool     // there may be a step that waits, about a second of the real server's time
}

// generate returns the script of a seed: whoever has the seed has the script.
func generate(seed uint64, steps int) []step {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 0)), up: map[int]bool{}, had: map[int]int{}, dead: map[int]bool{}}
	g.slow = g.chance(15)
	var script []step
	n := 3 + g.IntN(maxLinks-2)
	for on := 1; on <= n; on++ {
		script = append(script, step{On: on, Open: &opening{Timeout: 30_000, Flag: true}})
		g.born++
		g.up[on], g.had[on] = true, g.born
	}
	if g.chance(80) {
		s := step{On: 1}
		for _, path := range []string{"~/a", "~/b", "~/a/x"} {
			s.Ask = append(s.Ask, request{Op: opName(wire.OpCreate), Path: path})
			g.tree = append(g.tree, path)
		}
		script = append(script, s)
	}
	for len(script) < steps {
		script = append(script, g.step(1+g.IntN(n)))
	}
	return script[:steps]
}

func (g *generator) chance(percent float64) bool { return g.Float64()*100 < percent }

func (g *generator) step(on int) step {
	if !g.up[on] || g.chance(3) {
		return g.open(on)
	}
	switch x := g.Float64() * 1000; {
	case x < 8:
		g.up[on] = false
		return step{On: on, Drop: true}
	case x < 20:
		g.up[on], g.dead[g.had[on]] = false, true
		return step{On: on, Ask: []request{{Op: opName(wire.OpCloseSession)}}}
	case x < 26:
		g.up[on] = false
		return step{On: on, Raw: draw(g.Rand, raws)}
	case x < 31:
		g.up[on] = false
		return step{On: on, Ask: []request{{Op: draw(g.Rand, unknownOps), Path: "~"}}}
	case x < 50:
		return g.auth(on)
	case x < 60 && g.slow:
		g.slow = false
		return g.wait(on)
	case x < 170:
		s := step{On: on}
		for range 2 + g.IntN(7) {
			r := g.request()
			if big(r) {
				// What is before it may or may not be answered before the connection ends.
				continue
			}
			s.Ask = append(s.Ask, r)
			if wire.Op(r.Op) == wire.OpSetACL || chokes(r) {
				// By what the real server judges the next in the flight is a matter of luck.
				return s
			}
		}
		if len(s.Ask) == 0 || g.chance(6) {
			g.up[on], g.dead[g.had[on]] = false, true
			s.Ask = append(s.Ask, request{Op: opName(wire.OpCloseSession)})
		}
		return s
	}
	return step{On: on, Ask: []request{g.request()}}
}

// chokes reports whether a request is a multi that the real server fails at in
// the midst, with a node that is to have a TTL and can have none.
func chokes(r request) bool {
	return slices.ContainsFunc(r.Subs, func(s request) bool {
		return wire.Op(s.Op) != wire.OpCreateTTL && (s.Flags == 5 || s.Flags == 6)
	})
}

// raws are a short header, no header, a length over the limit, a negative one.
var raws = weighted[string]{{1, "0000000400000001"}, {1, "00000000"}, {1, "001000000000000100000003"}, {1, "ffffffff"}, {1, "80000000"}}

var unknownOps = weighted[opName]{{1, 0}, {1, 10}, {1, 23}, {1, 99}, {1, 4096}, {1, -1}}

func (g *generator) open(on int) step {
	o := opening{Timeout: draw(g.Rand, weighted[int32]{{5, 30_000}, {1, 12_345}, {1, 60_000}, {1, 90_000}, {1, math.MaxInt32}}), Flag: g.chance(80)}
	o.ReadOnly = o.Flag && g.chance(10)
	if g.chance(5) {
		o.Protocol = 7
	}
	if g.chance(60) {
		o.Of = 1 + g.IntN(maxLinks)
		if g.chance(40) {
			o.Of = on
		}
		o.Pass = draw(g.Rand, weighted[string]{{80, ""}, {10, "wrong"}, {2, "short"}, {2, "null"}})
		if g.had[o.Of] == 0 {
			o.Of = 0
		}
	}
	if g.chance(2) {
		o.Of = -1
	}
	o.Seen = draw(g.Rand, weighted[string]{{60, ""}, {30, "last"}, {8, "ahead"}})
	if g.chance(3) {
		o.Cut = 2 + g.IntN(30)
	}
	g.opened(on, o)
	return step{On: on, Open: &o}
}

// opened guesses what comes of a handshake.
func (g *generator) opened(on int, o opening) {
	g.up[on] = false
	if o.Seen == "ahead" || o.Cut > 1 || o.Of < 0 {
		return
	}
	if o.Of == 0 {
		g.born++
		g.up[on], g.had[on] = true, g.born
		return
	}
	sess := g.had[o.Of]
	for other := range g.up {
		if g.had[other] == sess {
			g.up[other] = false
		}
	}
	if o.Pass == "" && !g.dead[sess] {
		g.up[on], g.had[on] = true, sess
	}
}

func (g *generator) auth(on int) step {
	r := request{Op: opName(wire.OpSetAuth), Scheme: "digest", Data: secrets[g.IntN(len(secrets))]}
	switch g.IntN(12) {
	case 0:
		r = request{Op: r.Op, Scheme: "ip", Data: "whatever"}
	case 1:
		r = request{Op: r.Op, Scheme: draw(g.Rand, weighted[string]{{1, "world"}, {1, "nonsense"}, {1, ""}, {1, "super"}}), Data: "anyone"}
	case 2:
		r.Cut = 1 + g.IntN(20)
	case 3:
		r.Xid = wire.XidAuth
	case 4:
		r.Data = draw(g.Rand, weighted[string]{{1, ""}, {1, ":"}, {1, "a:b:c"}, {1, "é:ü"}, {1, "😀:x"}})
	}
	return step{On: on, Ask: []request{r}}
}

func (g *generator) wait(on int) step {
	if g.chance(60) {
		g.up[on], g.dead[g.had[on]] = false, true
		return step{On: on, Expire: int(draw(g.Rand, weighted[int32]{{1, 1}, {1, 399}, {1, 400}, {1, 433}, {1, -5}}))}
	}
	if g.chance(50) {
		return step{On: on, Reap: "ttl"}
	}
	return step{On: on, Reap: "container"}
}
