package zktest

import (
	"fmt"
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// author is on whose behalf a write is judged.
type author struct {
	session int64
	ids     []id
}

// judge decides writes, one after the other, without changing the tree: within
// a multi each operation is judged by what those before it would leave behind.
// The order of checks is the real server's.
type judge struct {
	tree    *tree
	pending map[string]*record
}

// record is what a check needs to know of a znode.
type record struct {
	exists                     bool
	kind                       nodeKind
	version, aversion, counter int32
	children                   int
	acl                        []acl
}

func (j *judge) record(path string) *record {
	if path == "/" {
		path = ""
	}
	if r := j.pending[path]; r != nil {
		return r
	}
	r := &record{}
	if n := j.tree.nodes[path]; n != nil {
		*r = record{true, n.kind, n.version, n.aversion, n.counter, n.children.len(), n.acl}
	}
	if j.pending == nil {
		j.pending = map[string]*record{}
	}
	j.pending[path] = r
	return r
}

func (j *judge) create(op Op, r createRequest, who author) (change, Code) {
	mode, code := modeFor(op, r)
	if code != wire.OK {
		return change{}, code
	}
	if r.path == null {
		return change{}, wire.MarshallingError
	}
	if !hasSlash(r.path) || strings.IndexByte(r.path, 0) >= 0 {
		return change{}, wire.BadArguments
	}
	list, code := expand(r.acl, who.ids)
	if code != wire.OK {
		return change{}, code
	}
	up, _ := split(r.path)
	parent := j.record(up)
	if !parent.exists {
		return change{}, wire.NoNode
	}
	if !allowed(parent.acl, permCreate, who.ids) {
		return change{}, wire.NoAuth
	}
	path := r.path
	if mode.sequential {
		path += fmt.Sprintf("%010d", parent.counter)
	}
	if !validPath(path) {
		return change{}, wire.BadArguments
	}
	n := j.record(path)
	if n.exists {
		return change{}, wire.NodeExists
	}
	if parent.kind == ephemeral {
		return change{}, wire.NoChildrenForEphemerals
	}
	// Past the largest number this goes negative. The tree then keeps the larger,
	// but a later operation of the same multi has already counted on from here.
	parent.counter++
	parent.children++
	*n = record{exists: true, kind: mode.kind, acl: list}
	c := change{op: op, path: path, data: r.data, acl: list, kind: mode.kind, counter: parent.counter}
	switch mode.kind {
	case ephemeral:
		c.owner = who.session
	case transient:
		c.ttl = r.ttl
	}
	return c, wire.OK
}

func (j *judge) delete(r versioned, who author) (change, Code) {
	if r.path == null {
		return change{}, wire.MarshallingError
	}
	if !hasSlash(r.path) || strings.IndexByte(r.path, 0) >= 0 || special(r.path) {
		return change{}, wire.BadArguments
	}
	up, _ := split(r.path)
	parent := j.record(up)
	if !parent.exists {
		return change{}, wire.NoNode
	}
	if !allowed(parent.acl, permDelete, who.ids) {
		return change{}, wire.NoAuth
	}
	n := j.record(r.path)
	switch {
	case !n.exists:
		return change{}, wire.NoNode
	case r.version != -1 && r.version != n.version:
		return change{}, wire.BadVersion
	case n.children > 0:
		return change{}, wire.NotEmpty
	}
	parent.children--
	*n = record{}
	return change{op: OpDelete, path: r.path}, wire.OK
}

func (j *judge) setData(r setDataRequest, who author) (change, Code) {
	n, code := j.existing(r.path, permWrite, who)
	if code != wire.OK {
		return change{}, code
	}
	if r.version != -1 && r.version != n.version {
		return change{}, wire.BadVersion
	}
	n.version++
	return change{op: OpSetData, path: r.path, data: r.data, version: n.version}, wire.OK
}

func (j *judge) setACL(r setACLRequest, who author) (change, Code) {
	if !validPath(r.path) {
		return change{}, wire.BadArguments
	}
	list, code := expand(r.acl, who.ids)
	if code != wire.OK {
		return change{}, code
	}
	n, code := j.existing(r.path, permAdmin, who)
	if code != wire.OK {
		return change{}, code
	}
	if r.version != -1 && r.version != n.aversion {
		return change{}, wire.BadVersion
	}
	n.aversion++
	n.acl = list
	return change{op: OpSetACL, path: r.path, acl: list, version: n.aversion}, wire.OK
}

func (j *judge) check(r versioned, who author) (change, Code) {
	n, code := j.existing(r.path, permRead, who)
	if code != wire.OK {
		return change{}, code
	}
	if r.version != -1 && r.version != n.version {
		return change{}, wire.BadVersion
	}
	return change{op: OpCheck, path: r.path}, wire.OK
}

func (j *judge) existing(path string, perm int32, who author) (*record, Code) {
	if !validPath(path) {
		return nil, wire.BadArguments
	}
	n := j.record(path)
	if !n.exists {
		return nil, wire.NoNode
	}
	if !allowed(n.acl, perm, who.ids) {
		return nil, wire.NoAuth
	}
	return n, wire.OK
}

// hasSlash is all that ZooKeeper asks of some paths.
func hasSlash(path string) bool { return strings.Contains(path, "/") }
