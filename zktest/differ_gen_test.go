package zktest_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// maxLinks is how many connections a script has at most.
const maxLinks = 5

// secrets are whom a client can be.
var secrets = []string{"ann:secret", "bob:pw", "nocolon"}

// opDeleteContainer is what a server asks of itself. A client that does is
// refused like one that asks for a bad path: the server reads the whole request,
// header and all, as the path.
const opDeleteContainer wire.Op = 20

// requestOps are the operations that scripts send, with how often. What is not
// in it may end the connection.
var requestOps = map[wire.Op]int{
	wire.OpCreate: 16, wire.OpCreate2: 8, wire.OpCreateContainer: 2, wire.OpCreateTTL: 4, wire.OpDelete: 12,
	wire.OpSetData: 10, wire.OpSetACL: 5, wire.OpGetACL: 4, wire.OpGetData: 8, wire.OpExists: 8,
	wire.OpGetChildren: 5, wire.OpGetChildren2: 5, wire.OpSync: 1, wire.OpMulti: 12, wire.OpMultiRead: 4,
	wire.OpSetWatches: 3, wire.OpSetWatches2: 4, wire.OpAddWatch: 7, wire.OpRemoveWatches: 5, wire.OpCheckWatches: 3,
	wire.OpGetEphemerals: 2, wire.OpGetAllChildren: 2, wire.OpWhoAmI: 2, wire.OpPing: 1, wire.OpReconfig: 1, wire.OpCheck: 1,
	opDeleteContainer: 1,
}

// notServed are the operations that zktest does not serve yet.
var notServed = map[wire.Op]bool{}

// weighted is a list of values with how often each is drawn.
type weighted[T any] []struct {
	weight int
	value  T
}

func draw[T any](r *rand.Rand, list weighted[T]) T {
	total := 0
	for _, w := range list {
		total += w.weight
	}
	n := r.IntN(total)
	for _, w := range list {
		if n -= w.weight; n < 0 {
			return w.value
		}
	}
	panic("unreachable")
}

// paths are few, so that what one step does matters to the next. Below ~/k are
// containers; nothing below them is ever deleted, because the real server reaps
// an emptied one whenever it likes.
var paths = weighted[string]{
	{3, "~"}, {9, "~/a"}, {5, "~/b"}, {2, "~/ab"}, {7, "~/a/x"}, {4, "~/a/y"}, {3, "~/a/x/p"}, {2, "~/b/e"}, {3, "~/e"},
	{2, "~/n-0000000000"}, {2, "~/n-0000000002"}, {1, "~/a/n-0000000001"}, {1, "~/a/0000000001"}, {1, "~/é"}, {1, "~/.hidden"},
}

var containers = weighted[string]{{3, "~/k"}, {2, "~/k/c"}, {1, "~/a/k"}}

var badPaths = weighted[string]{
	{1, ""}, {1, "/"}, {1, "x"}, {1, "//"}, {1, "~/"}, {1, "~//a"}, {1, "~/./a"}, {1, "~/../a"}, {1, "~/a/.."}, {1, "~/a/"}, {1, "~/\x00"},
	{1, "~/a\x1f"}, {1, "~/\u007f"}, {1, "~/\u0085"}, {1, "~/\ue000"}, {1, "~/\ufff0"}, {1, "~/😀"}, {1, "~/\U00010000"}, {1, "~/\ufffd"}, {1, notUTF8}, {1, "~/none/x"}, {1, "/zookeeper"},
	{1, "/zookeeper/quota"}, {1, "/zookeeper/config"}, {1, nullPath}, {1, " "},
}

var aclNames = weighted[string]{
	{110, ""}, {2, "twice"}, {3, "read"}, {2, "ann"}, {4, "auth"}, {2, "auth+"}, {2, "ip"}, {2, "net"}, {2, "elsewhere"}, {2, "admin"}, {2, "write"},
	{2, "create"}, {2, "delete"}, {1, "strange"}, {1, "none"}, {1, "null"}, {1, "nobody"}, {1, "world"}, {1, "digest"}, {1, "badip"}, {1, "emptied"}, {1, "late"}, {2, "foreign"}, {1, "nulls"},
}

var versions = weighted[int32]{{50, -1}, {20, 0}, {10, 1}, {5, 2}, {2, 3}, {2, 77}, {1, -2}, {1, math.MaxInt32}}

var createFlags = weighted[int32]{{14, 0}, {8, 1}, {5, 2}, {5, 3}, {1, -1}, {1, 5}, {1, 6}, {1, 7}, {1, 99}}

var datas = weighted[request]{
	{8, request{}}, {8, request{Data: "a"}}, {6, request{Data: "longer data"}}, {3, request{Null: true}}, {2, request{Size: 3000}},
}

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
			s.Ask = append(s.Ask, g.request())
			if wire.Op(s.Ask[len(s.Ask)-1].Op) == wire.OpSetACL {
				// Whether the real server judges what comes behind it in one flight by the
				// old list or the new one is a matter of luck.
				return s
			}
		}
		if g.chance(6) {
			g.up[on], g.dead[g.had[on]] = false, true
			s.Ask = append(s.Ask, request{Op: opName(wire.OpCloseSession)})
		}
		return s
	}
	return step{On: on, Ask: []request{g.request()}}
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
	o.Seen = draw(g.Rand, weighted[string]{{110, ""}, {30, "last"}, {8, "ahead"}})
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
	if g.chance(50) && !notServed[wire.OpCreateTTL] {
		return step{On: on, Reap: "ttl"}
	}
	return step{On: on, Reap: "container"}
}

func (g *generator) op() wire.Op {
	for {
		total := 0
		for _, n := range requestOps {
			total += n
		}
		n := g.IntN(total)
		// A map has no order to draw from.
		for op := wire.Op(0); op < 200; op++ {
			if n -= requestOps[op]; n < 0 {
				if !notServed[op] {
					return op
				}
				break
			}
		}
	}
}

func (g *generator) path() string {
	switch {
	case g.chance(4):
		return draw(g.Rand, badPaths)
	case g.chance(8):
		return draw(g.Rand, containers)
	}
	if len(g.tree) > 0 && g.chance(60) {
		return g.tree[g.IntN(len(g.tree))]
	}
	return draw(g.Rand, paths)
}

// birthplace is a path at which nothing is and something can be.
func (g *generator) birthplace() string {
	for range 20 {
		path := draw(g.Rand, paths)
		up := path[:max(1, strings.LastIndexByte(path, '/'))]
		if !slices.Contains(g.tree, path) && (up == "~" || slices.Contains(g.tree, up)) {
			return path
		}
	}
	return g.path()
}

// believe takes in what a request may have changed.
func (g *generator) believe(r request) {
	switch wire.Op(r.Op) {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateTTL:
		if r.Cut == 0 && r.ACL == "" && r.Flags&2 == 0 && strings.HasPrefix(r.Path, "~/") && !slices.Contains(g.tree, r.Path) {
			g.tree = append(g.tree, r.Path)
		}
	case wire.OpDelete:
		if r.Cut == 0 && (r.Version == -1 || r.Version == 0) {
			below := func(p string) bool { return strings.HasPrefix(p, r.Path+"/") }
			if !slices.ContainsFunc(g.tree, below) {
				g.tree = slices.DeleteFunc(g.tree, func(p string) bool { return p == r.Path })
			}
		}
	}
}

// inContainer reports whether a path is a container's or below one.
func inContainer(path string) bool { return strings.Contains(path, "/k") }

func (g *generator) request() request {
	r := g.plain(g.op())
	if g.chance(2) {
		r.Cut = 1 + g.IntN(24)
		if g.chance(20) {
			r.Cut = -1 - g.IntN(4)
		}
	}
	if g.chance(1) {
		r.Xid = draw(g.Rand, weighted[int32]{{1, wire.XidSetWatches}, {1, -100}, {1, math.MinInt32}, {1, 1}, {1, math.MaxInt32}})
	}
	g.believe(r)
	return r
}

// plain returns a request whose body is whole.
func (g *generator) plain(op wire.Op) request {
	r := request{Op: opName(op), Path: g.path()}
	switch op {
	case wire.OpCreate, wire.OpCreate2, wire.OpCreateContainer, wire.OpCreateTTL:
		g.create(&r)
	case wire.OpDelete:
		r.Version = draw(g.Rand, versions)
		if strings.Contains(r.Path, "/k/") {
			r.Path = "~/k"
		}
	case wire.OpCheck:
		r.Version = 77 // one that succeeds kills the real server
	case wire.OpSetData, wire.OpSetACL:
		d := draw(g.Rand, datas)
		r.Version = draw(g.Rand, versions)
		if op == wire.OpSetData {
			r.Data, r.Null, r.Size = d.Data, d.Null, d.Size
		} else {
			r.ACL = draw(g.Rand, aclNames)
		}
		if !strings.HasPrefix(r.Path, "~") {
			r.Version = 77 // what other scripts see stays as it is
		}
	case wire.OpExists, wire.OpGetData, wire.OpGetChildren, wire.OpGetChildren2:
		r.Watch = g.chance(50)
		r.Path = ownPath(r.Path)
	case wire.OpAddWatch:
		r.Mode = draw(g.Rand, weighted[int32]{{5, 0}, {5, 1}, {1, 2}, {1, -1}})
		if r.Path == nullPath {
			r.Path = "" // as in setWatches2
		}
	case wire.OpRemoveWatches, wire.OpCheckWatches:
		r.Mode = draw(g.Rand, weighted[int32]{{4, 1}, {4, 2}, {4, 3}, {1, 0}, {1, 4}, {1, 5}})
		if op == wire.OpCheckWatches && !strings.HasPrefix(r.Path, "~") {
			r.Path = "~" // it counts everybody's watches
		}
	case wire.OpMulti:
		g.multi(&r)
	case wire.OpMultiRead:
		g.multiRead(&r)
	case wire.OpSetWatches, wire.OpSetWatches2:
		g.setWatches(&r)
	case wire.OpPing, wire.OpWhoAmI:
		r.Path = ""
	case wire.OpReconfig:
		r.Version = -1
	case wire.OpGetEphemerals:
		if g.chance(20) {
			r.Path = draw(g.Rand, weighted[string]{{1, ""}, {1, "/"}, {1, " "}, {1, nullPath}})
		}
	case wire.OpGetACL, wire.OpGetAllChildren:
		r.Path = ownPath(r.Path)
	}
	return r
}

// ownPath is path, or the script's own root for the server's: what is there
// depends on what else the server has been used for.
func ownPath(path string) string {
	if path == "" || path == "/" {
		return "~"
	}
	return path
}

func (g *generator) create(r *request) {
	d := draw(g.Rand, datas)
	r.Data, r.Null, r.Size = d.Data, d.Null, d.Size
	r.ACL = draw(g.Rand, aclNames)
	r.Flags = draw(g.Rand, createFlags)
	if g.chance(60) {
		r.Path = g.birthplace()
	}
	switch wire.Op(r.Op) {
	case wire.OpCreateContainer:
		r.Path = draw(g.Rand, containers)
		r.Flags = draw(g.Rand, weighted[int32]{{8, 4}, {1, 0}, {1, 1}, {1, 2}, {1, 99}})
	case wire.OpCreateTTL:
		// Long enough to stay, or refused.
		r.TTL = draw(g.Rand, weighted[int64]{{8, 3_600_000}, {1, 0}, {1, -1}, {1, 0xffffffffff}, {1, 0x10000000000}, {1, math.MaxInt64}})
		r.Flags = draw(g.Rand, weighted[int32]{{6, 5}, {2, 6}, {1, 0}, {1, 1}, {1, 4}})
		if r.Flags < 5 {
			r.TTL = max(r.TTL, 0) // with none the real server ends, the whole process
		}
	}
	if r.Flags == 2 || r.Flags == 3 || r.Flags == 6 {
		r.Path = draw(g.Rand, weighted[string]{{3, "~/n-"}, {2, "~/a/n-"}, {1, "~/a/"}, {1, "~/none/n-"}, {1, "~/b/"}, {1, "~/k/n-"}})
	}
	if inContainer(r.Path) && r.Flags < 4 {
		r.Flags &^= 1 // an ephemeral would empty it at the end of its session
	}
	if !strings.HasPrefix(r.Path, "~") {
		r.Data = ""
	}
}

func (g *generator) multi(r *request) {
	r.Path = ""
	for range g.IntN(5) {
		op := draw(g.Rand, weighted[wire.Op]{
			{8, wire.OpCreate}, {2, wire.OpCreate2}, {1, wire.OpCreateContainer}, {2, wire.OpCreateTTL}, {4, wire.OpDelete}, {5, wire.OpSetData}, {4, wire.OpCheck},
		})
		if notServed[op] {
			continue
		}
		s := g.plain(op)
		if s.Path == nullPath {
			s.Path = "x" // the real server loses its way: see the package doc of zktest
		}
		switch op {
		case wire.OpCheck:
			s.Version = draw(g.Rand, versions)
		case wire.OpCreate:
			if inContainer(s.Path) && g.chance(50) {
				s.Flags = 4
			}
		}
		r.Subs = append(r.Subs, s)
	}
	if g.chance(3) {
		r.Subs = append(r.Subs, request{Op: draw(g.Rand, weighted[opName]{
			{1, opName(wire.OpGetData)}, {1, opName(wire.OpSetACL)}, {1, opName(wire.OpSync)}, {1, 99}, {1, -1},
		}), Path: "~/a"})
	}
	if g.chance(5) {
		r.Subs = append(r.Subs, request{Op: opName(wire.OpCheck), Path: draw(g.Rand, paths), Version: 77})
	}
}

func (g *generator) multiRead(r *request) {
	r.Path = ""
	for range g.IntN(4) {
		s := g.plain(draw(g.Rand, weighted[wire.Op]{{4, wire.OpGetData}, {4, wire.OpGetChildren}}))
		r.Subs = append(r.Subs, s)
	}
	if g.chance(10) {
		r.Subs = append(r.Subs, request{Op: draw(g.Rand, weighted[opName]{{1, opName(wire.OpExists)}, {1, opName(wire.OpDelete)}, {1, 99}}), Path: "~/a"})
	}
}

func (g *generator) setWatches(r *request) {
	r.Path = ""
	r.Back = g.IntN(40) - 5
	for i := range r.Paths {
		if i >= 3 && wire.Op(r.Op) == wire.OpSetWatches {
			break
		}
		for range g.IntN(4) {
			r.Paths[i] = append(r.Paths[i], g.path())
			if last := &r.Paths[i][len(r.Paths[i])-1]; i >= 3 && *last == nullPath {
				*last = "" // the real server can never close the connection again
			}
		}
	}
}
