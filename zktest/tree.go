package zktest

import (
	"maps"
	"slices"
	"strings"
)

// znode is a node of the tree.
type znode struct {
	data                []byte
	acl                 []acl
	kind                nodeKind
	owner               int64 // of an ephemeral
	ttl                 int64 // of a transient node, in milliseconds
	czxid, mzxid, pzxid int64
	ctime, mtime        int64
	version, aversion   int32
	counter             int32 // creates of children ever: the next sequence number
	children            names
}

func (n *znode) stat() Stat {
	s := Stat{
		Czxid: n.czxid, Mzxid: n.mzxid, Ctime: n.ctime, Mtime: n.mtime,
		Version: n.version, Aversion: n.aversion, Cversion: n.counter*2 - int32(n.children.len()),
		DataLength: int32(len(n.data)), NumChildren: int32(n.children.len()), Pzxid: n.pzxid,
	}
	if n.kind == ephemeral {
		s.EphemeralOwner = n.owner
	}
	return s
}

// tree is the state that a log of changes builds. It judges nothing: every
// change handed to apply has been checked (check.go), so that a second tree fed
// the same log is the same tree.
type tree struct {
	nodes      map[string]*znode // by path; the root is both "" and "/"
	ephemerals map[int64]map[string]struct{}
	empty      map[string]struct{} // containers that have had children and have none
	transient  map[string]struct{} // the nodes with a TTL
	legacy     bool                // the counter wraps, as up to ZooKeeper 3.5
}

// quotaPath and configPath exist on every server and cannot be deleted.
const (
	systemPath = "/zookeeper"
	quotaPath  = "/zookeeper/quota"
	configPath = "/zookeeper/config"
)

func newTree(legacy bool) *tree {
	t := &tree{
		nodes:      map[string]*znode{},
		ephemerals: map[int64]map[string]struct{}{},
		empty:      map[string]struct{}{},
		transient:  map[string]struct{}{},
		legacy:     legacy,
	}
	anyone := id{"world", "anyone"}
	open := []acl{{permAll, anyone}}
	root := &znode{data: []byte{}, acl: open, children: namesOf("zookeeper")}
	t.nodes[""], t.nodes["/"] = root, root
	t.nodes[systemPath] = &znode{data: []byte{}, acl: open, children: namesOf("config", "quota")}
	t.nodes[quotaPath] = &znode{data: []byte{}, acl: open}
	t.nodes[configPath] = &znode{data: []byte{}, acl: []acl{{permRead, anyone}}, aversion: -1}
	return t
}

// node returns the node at an operator's path, nil if there is none. The root
// has but one name here: under the other it could be deleted.
func (t *tree) node(path string) *znode {
	if path == "" {
		return nil
	}
	return t.nodes[path]
}

// special reports whether path is one that no client may delete.
func special(path string) bool {
	return path == "/" || path == systemPath || path == quotaPath || path == configPath
}

// split returns the parent's path ("" for the root) and the node's name.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// change is one step of a transaction, decided and ready to be applied.
type change struct {
	op      Op // a create of any kind, delete, setData, setACL, check, error
	path    string
	data    []byte
	acl     []acl
	kind    nodeKind
	owner   int64
	ttl     int64
	version int32 // the node's own after setData or setACL
	counter int32 // the parent's after a create
	code    Code  // of an error
}

// notifier is told what kind of thing happened to which path, and the acl of the
// node there.
type notifier func(kind int32, path string, list []acl)

// apply makes c part of the tree under zxid and tells notify. It returns the Stat of the node created or changed, as it then is.
func (t *tree) apply(c change, zxid, now int64, notify notifier) Stat {
	switch c.op {
	case OpCreate, OpCreate2, OpCreateContainer, OpCreateTTL:
		return t.create(c, zxid, now, notify)
	case OpDelete:
		t.remove(c.path, zxid, notify)
	case OpSetData:
		n := t.nodes[c.path]
		n.data, n.version, n.mzxid, n.mtime = c.data, c.version, zxid, now
		s := n.stat()
		notify(eventDataChanged, c.path, n.acl)
		return s
	case OpSetACL:
		n := t.nodes[c.path]
		n.acl, n.aversion = c.acl, c.version
		return n.stat()
	case opSetSequence:
		t.setSequence(c)
	}
	return Stat{}
}

func (t *tree) create(c change, zxid, now int64, notify notifier) Stat {
	n := &znode{
		data: c.data, acl: c.acl, kind: c.kind, owner: c.owner, ttl: c.ttl,
		czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: now, mtime: now,
	}
	up, name := split(c.path)
	parent := t.nodes[up]
	parent.children.add(name)
	delete(t.empty, up)
	// The counter never goes back; at its end the parent's pzxid stops with it.
	if t.legacy || c.counter > parent.counter {
		parent.counter, parent.pzxid = c.counter, zxid
	}
	t.nodes[c.path] = n
	switch c.kind {
	case transient:
		t.transient[c.path] = struct{}{}
	case ephemeral:
		own := t.ephemerals[c.owner]
		if own == nil {
			own = map[string]struct{}{}
			t.ephemerals[c.owner] = own
		}
		own[c.path] = struct{}{}
	}
	s := n.stat()
	notify(eventCreated, c.path, n.acl)
	notify(eventChildrenChanged, rootAsSlash(up), parent.acl)
	return s
}

func (t *tree) remove(path string, zxid int64, notify notifier) {
	n := t.nodes[path]
	up, name := split(path)
	parent := t.nodes[up]
	parent.children.remove(name)
	t.noteEmpty(up, parent)
	parent.pzxid = max(parent.pzxid, zxid)
	delete(t.nodes, path)
	delete(t.empty, path)
	delete(t.transient, path)
	if own := t.ephemerals[n.owner]; own != nil {
		delete(own, path)
		if len(own) == 0 {
			delete(t.ephemerals, n.owner)
		}
	}
	notify(eventDeleted, path, n.acl)
	notify(eventChildrenChanged, rootAsSlash(up), parent.acl)
}

// below returns how many nodes there are below path.
func (t *tree) below(path string) int {
	switch path {
	case "/":
		return len(t.nodes) - 2
	case "":
		return len(t.nodes) - 1 // the root once more, by its other name
	}
	n := 0
	if t.nodes[path].children.len() > 0 {
		path += "/"
		for p := range t.nodes {
			if strings.HasPrefix(p, path) {
				n++
			}
		}
	}
	return n
}

func rootAsSlash(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

// ephemeralsOf returns the paths of a session's ephemerals, sorted.
func (t *tree) ephemeralsOf(session int64) []string {
	return sortedKeys(t.ephemerals[session])
}

// clone returns a copy that shares nothing that changes.
func (t *tree) clone() *tree {
	c := *t
	c.nodes = make(map[string]*znode, len(t.nodes))
	for path, n := range t.nodes {
		copied := *n
		copied.children = n.children.clone()
		c.nodes[path] = &copied
	}
	c.nodes["/"] = c.nodes[""]
	c.ephemerals = make(map[int64]map[string]struct{}, len(t.ephemerals))
	for session, paths := range t.ephemerals {
		c.ephemerals[session] = maps.Clone(paths)
	}
	c.empty, c.transient = maps.Clone(t.empty), maps.Clone(t.transient)
	return &c
}

func (t *tree) setSequence(c change) {
	n := t.nodes[c.path]
	n.counter = c.counter
	t.noteEmpty(c.path, n)
}

func sortedKeys(m map[string]struct{}) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
