package zktest

import (
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// read serves what changes nothing in the tree; known is false for what is no
// operation at all. A reply with an error can have a body too.
func (s *Server) read(c *conn, op Op, d *wire.Decoder) (code Code, body func(*wire.Encoder), known bool) {
	serve := s.reader(c, op, d)
	switch {
	case serve == nil:
		return wire.Unimplemented, nil, false
	case d.Err() != nil:
		return wire.MarshallingError, nil, true
	}
	code, body = serve()
	return code, body, true
}

// reader decodes the body of a request and returns what serves it.
func (s *Server) reader(c *conn, op Op, d *wire.Decoder) func() (Code, func(*wire.Encoder)) {
	just := func(code func() Code) func() (Code, func(*wire.Encoder)) {
		return func() (Code, func(*wire.Encoder)) { return code(), nil }
	}
	switch op {
	case OpPing:
		return just(func() Code { return wire.OK })
	case OpSync:
		path := text(d)
		return func() (Code, func(*wire.Encoder)) { return wire.OK, func(e *wire.Encoder) { putText(e, path) } }
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r := decodeWatched(d)
		return func() (Code, func(*wire.Encoder)) { return s.look(c, op, r) }
	case OpGetACL:
		path := text(d)
		return func() (Code, func(*wire.Encoder)) { return s.getACL(c, path) }
	case OpMultiRead:
		ops := decodeMultiRead(d)
		return func() (Code, func(*wire.Encoder)) { return s.multiRead(c, ops) }
	case OpGetEphemerals:
		prefix := text(d)
		return func() (Code, func(*wire.Encoder)) { return wire.OK, s.getEphemerals(c, prefix) }
	case OpGetAllChildren:
		path := text(d)
		return func() (Code, func(*wire.Encoder)) { return s.getAllChildrenNumber(c, path) }
	case OpWhoAmI:
		return func() (Code, func(*wire.Encoder)) { return wire.OK, c.whoAmI }
	case OpSetWatches, OpSetWatches2:
		r := decodeSetWatches(op, d)
		return just(func() Code { return s.rearm(c, r) })
	case OpAddWatch:
		r := decodeVersioned(d)
		return func() (Code, func(*wire.Encoder)) { return s.addWatch(c, r) }
	case OpRemoveWatches:
		r := decodeVersioned(d)
		return just(func() Code { return s.removeWatches(c, r) })
	case OpCheckWatches:
		r := decodeVersioned(d)
		return just(func() Code { return s.checkWatches(r) })
	}
	return nil
}

// look serves the reads that can leave a watch. exists leaves one on a node
// that is not there, and asks nobody for permission.
func (s *Server) look(c *conn, op Op, r watched) (Code, func(*wire.Encoder)) {
	if r.path == null {
		return wire.MarshallingError, nil
	}
	n := s.tree.nodes[r.path]
	if op == OpExists {
		if strings.IndexByte(r.path, 0) >= 0 {
			return wire.BadArguments, nil
		}
		if r.watch {
			s.dataWatches.add(r.path, c, oneShot)
		}
		if n == nil {
			return wire.NoNode, nil
		}
		return wire.OK, n.stat().encode
	}
	if code := readable(n, c); code != wire.OK {
		return code, nil
	}
	if op == OpGetData {
		if r.watch {
			s.dataWatches.add(r.path, c, oneShot)
		}
		return wire.OK, func(e *wire.Encoder) {
			e.Buffer(n.data)
			n.stat().encode(e)
		}
	}
	if r.watch {
		s.childWatches.add(r.path, c, oneShot)
	}
	return wire.OK, func(e *wire.Encoder) {
		n.children.encode(e)
		if op == OpGetChildren2 {
			n.stat().encode(e)
		}
	}
}

// readable judges whether a client may see what is in a node, nil if there is
// none.
func readable(n *znode, c *conn) Code {
	switch {
	case n == nil:
		return wire.NoNode
	case !allowed(n.acl, permRead, c.ids):
		return wire.NoAuth
	}
	return wire.OK
}

func (s *Server) getACL(c *conn, path string) (Code, func(*wire.Encoder)) {
	n := s.tree.nodes[path]
	switch {
	case path == null:
		return wire.MarshallingError, nil
	case n == nil:
		return wire.NoNode, nil
	case !allowed(n.acl, permRead|permAdmin, c.ids):
		return wire.NoAuth, nil
	}
	list := n.acl
	if !allowed(n.acl, permAdmin, c.ids) {
		list = masked(list)
	}
	return wire.OK, func(e *wire.Encoder) {
		encodeACLs(e, list)
		n.stat().encode(e)
	}
}

// getEphemerals lists the client's own ephemerals whose paths begin with
// prefix.
func (s *Server) getEphemerals(c *conn, prefix string) func(*wire.Encoder) {
	blank := strings.TrimFunc(prefix, func(r rune) bool { return r <= ' ' })
	paths := s.tree.ephemeralsOf(c.session)
	if prefix != null && blank != "" && blank != "/" {
		kept := paths[:0]
		for _, p := range paths {
			if strings.HasPrefix(p, prefix) {
				kept = append(kept, p)
			}
		}
		paths = kept
	}
	return func(e *wire.Encoder) { e.Strings(paths) }
}

// getAllChildrenNumber counts the nodes below a node.
func (s *Server) getAllChildrenNumber(c *conn, path string) (Code, func(*wire.Encoder)) {
	if path == null {
		return wire.MarshallingError, nil
	}
	if code := readable(s.tree.nodes[path], c); code != wire.OK {
		return code, nil
	}
	n := s.tree.below(path)
	return wire.OK, func(e *wire.Encoder) { e.Int32(int32(n)) }
}
