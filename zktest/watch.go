package zktest

import (
	"cmp"
	"slices"
)

// watchTable holds one kind of one-shot watches of one server: on data (which
// includes existence) or on children. Watches belong to connections.
type watchTable struct {
	byPath map[string]map[*conn]struct{}
	byConn map[*conn]map[string]struct{}
}

func newWatchTable() *watchTable {
	return &watchTable{byPath: map[string]map[*conn]struct{}{}, byConn: map[*conn]map[string]struct{}{}}
}

func (w *watchTable) add(path string, c *conn) {
	if w.byPath[path] == nil {
		w.byPath[path] = map[*conn]struct{}{}
	}
	w.byPath[path][c] = struct{}{}
	if w.byConn[c] == nil {
		w.byConn[c] = map[string]struct{}{}
	}
	w.byConn[c][path] = struct{}{}
}

// take removes the watches on path and returns whose they were, in the order
// their connections were accepted.
func (w *watchTable) take(path string) []*conn {
	at := w.byPath[path]
	if len(at) == 0 {
		return nil
	}
	delete(w.byPath, path)
	out := make([]*conn, 0, len(at))
	for c := range at {
		out = append(out, c)
		delete(w.byConn[c], path)
	}
	slices.SortFunc(out, func(a, b *conn) int { return cmp.Compare(a.number, b.number) })
	return out
}

// drop removes the watches of a connection.
func (w *watchTable) drop(c *conn) {
	for path := range w.byConn[c] {
		delete(w.byPath[path], c)
		if len(w.byPath[path]) == 0 {
			delete(w.byPath, path)
		}
	}
	delete(w.byConn, c)
}

func (w *watchTable) count() int {
	n := 0
	for _, paths := range w.byConn {
		n += len(paths)
	}
	return n
}

// notify fires the watches that an event of a kind on a path concerns. s.mu is
// held.
func (s *Server) notify(kind int32, path string) {
	var to []*conn
	switch kind {
	case eventChildrenChanged:
		to = s.childWatches.take(path)
	case eventDeleted:
		to = s.dataWatches.take(path)
		for _, c := range s.childWatches.take(path) {
			// One event for a connection, however many watches it had here.
			if !slices.Contains(to, c) {
				to = append(to, c)
			}
		}
	default:
		to = s.dataWatches.take(path)
	}
	for _, c := range to {
		s.send(c, eventFrame(kind, path))
	}
}

// rearm carries out setWatches: what has changed since the client's last zxid
// is told at once, the rest is watched again. s.mu is held.
func (s *Server) rearm(c *conn, r setWatchesRequest) {
	for _, p := range r.data {
		switch n := s.tree.nodes[p]; {
		case n == nil:
			s.send(c, eventFrame(eventDeleted, p))
		case n.mzxid > r.relative:
			s.send(c, eventFrame(eventDataChanged, p))
		default:
			s.dataWatches.add(p, c)
		}
	}
	for _, p := range r.exist {
		if s.tree.nodes[p] != nil {
			s.send(c, eventFrame(eventCreated, p))
		} else {
			s.dataWatches.add(p, c)
		}
	}
	for _, p := range r.children {
		switch n := s.tree.nodes[p]; {
		case n == nil:
			s.send(c, eventFrame(eventDeleted, p))
		case n.pzxid > r.relative:
			s.send(c, eventFrame(eventChildrenChanged, p))
		default:
			s.childWatches.add(p, c)
		}
	}
}
