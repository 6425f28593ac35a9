package zktest_test

import (
	"math"
	"slices"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

func (g *generator) op() wire.Op {
	total := 0
	for _, n := range requestOps {
		total += n
	}
	n := g.IntN(total)
	op := wire.Op(0)
	// A map has no order to draw from.
	for n -= requestOps[op]; n >= 0; n -= requestOps[op] {
		op++
	}
	return op
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
