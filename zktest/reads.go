package zktest

import (
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// read serves what changes nothing.
func (s *Server) read(c *conn, op Op, d *wire.Decoder) (Code, func(*wire.Encoder)) {
	switch op {
	case OpSync:
		path := d.String()
		return wire.OK, func(e *wire.Encoder) { e.String(path) }
	case OpExists, OpGetData, OpGetChildren, OpGetChildren2:
		r := decodeWatched(d)
		if d.Err() != nil {
			return wire.MarshallingError, nil
		}
		return s.look(c, op, r)
	case OpGetACL:
		path := d.String()
		if d.Err() != nil {
			return wire.MarshallingError, nil
		}
		return s.getACL(c, path)
	case OpSetWatches:
		r := decodeSetWatches(d)
		if d.Err() == nil {
			s.rearm(c, r)
		}
	}
	return wire.OK, nil
}

// look serves the reads that can leave a watch. exists leaves one on a node
// that is not there, and asks nobody for permission.
func (s *Server) look(c *conn, op Op, r watched) (Code, func(*wire.Encoder)) {
	n := s.tree.nodes[r.path]
	if op == OpExists {
		if strings.IndexByte(r.path, 0) >= 0 {
			return wire.BadArguments, nil
		}
		if r.watch {
			s.dataWatches.add(r.path, c)
		}
	}
	if n == nil {
		return wire.NoNode, nil
	}
	if op == OpExists {
		return wire.OK, n.stat().encode
	}
	if !allowed(n.acl, permRead, c.ids) {
		return wire.NoAuth, nil
	}
	if op == OpGetData {
		if r.watch {
			s.dataWatches.add(r.path, c)
		}
		return wire.OK, func(e *wire.Encoder) {
			e.Buffer(n.data)
			n.stat().encode(e)
		}
	}
	if r.watch {
		s.childWatches.add(r.path, c)
	}
	return wire.OK, func(e *wire.Encoder) {
		n.children.encode(e)
		if op == OpGetChildren2 {
			n.stat().encode(e)
		}
	}
}

func (s *Server) getACL(c *conn, path string) (Code, func(*wire.Encoder)) {
	n := s.tree.nodes[path]
	if n == nil {
		return wire.NoNode, nil
	}
	if !allowed(n.acl, permRead|permAdmin, c.ids) {
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
