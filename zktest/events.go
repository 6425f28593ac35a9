package zktest

import (
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// notify fires the watches that an event of a kind on a path concerns. list is
// the acl of the node there: who may not read it is not told, but a one-shot
// watch is gone all the same. s.mu is held.
func (s *Server) notify(kind int32, path string, list []acl) {
	switch kind {
	case eventChildrenChanged:
		s.tell(s.childWatches.fire(kind, path), kind, path, list)
	case eventDeleted:
		to := s.dataWatches.fire(kind, path)
		s.tell(to, kind, path, list)
		// One event for a connection, however many watches it had here.
		also := s.childWatches.fire(kind, path)
		also = slices.DeleteFunc(also, func(c *conn) bool {
			_, told := slices.BinarySearchFunc(to, c.number, func(t *conn, number int) int { return t.number - number })
			return told
		})
		s.tell(also, kind, path, list)
	default:
		s.tell(s.dataWatches.fire(kind, path), kind, path, list)
	}
}

func (s *Server) tell(to []*conn, kind int32, path string, list []acl) {
	for _, c := range to {
		if allowed(list, permRead, c.ids) {
			s.send(c, eventFrame(kind, path))
		}
	}
}

// rearm carries out setWatches and setWatches2: what has changed since the
// client's last zxid is told at once, to whom it may be, the rest is watched
// again. A null in place of a list or a path is an error, but what came before
// it has been done. s.mu is held.
func (s *Server) rearm(c *conn, r setWatchesRequest) Code {
	for _, step := range []struct {
		paths []string
		do    func(path string)
	}{
		{r.data, func(p string) {
			switch n := s.tree.nodes[p]; {
			case n == nil:
				s.send(c, eventFrame(eventDeleted, p))
			case n.mzxid > r.relative:
				s.send(c, eventFrame(eventDataChanged, p))
			default:
				s.dataWatches.add(p, c, oneShot)
			}
		}},
		{r.exist, func(p string) {
			if s.tree.nodes[p] != nil {
				s.send(c, eventFrame(eventCreated, p))
			} else {
				s.dataWatches.add(p, c, oneShot)
			}
		}},
		{r.children, func(p string) {
			switch n := s.tree.nodes[p]; {
			case n == nil:
				s.send(c, eventFrame(eventDeleted, p))
			case n.pzxid > r.relative:
				s.send(c, eventFrame(eventChildrenChanged, p))
			default:
				s.childWatches.add(p, c, oneShot)
			}
		}},
		{r.lasting, func(p string) { s.watch(c, p, lasting) }},
		{r.below, func(p string) { s.watch(c, p, lastingBelow) }},
	} {
		if step.paths == nil {
			return wire.MarshallingError
		}
		if c.tap.net != nil {
			// go-zookeeper takes them from a map, so that their order is chance.
			slices.Sort(step.paths)
		}
		for _, p := range step.paths {
			if p == null {
				return wire.MarshallingError
			}
			step.do(p)
		}
	}
	return wire.OK
}

// watch sets a lasting watch on a path, whether or not there is a node.
func (s *Server) watch(c *conn, path string, mode watchMode) {
	s.dataWatches.add(path, c, mode)
	s.childWatches.add(path, c, mode)
}

// addWatch serves addWatch.
func (s *Server) addWatch(c *conn, r versioned) (Code, func(*wire.Encoder)) {
	// What the request calls its mode stands where a version does elsewhere.
	switch {
	case r.path != null && r.version == 0:
		s.watch(c, r.path, lasting)
	case r.path != null && r.version == 1:
		s.watch(c, r.path, lastingBelow)
	default:
		return wire.MarshallingError, nil
	}
	return wire.OK, func(e *wire.Encoder) { e.Int32(int32(wire.OK)) }
}

// tablesOf returns the tables that a kind of watches is in; none if there is no
// such kind.
func (s *Server) tablesOf(kind int32) []*watchTable {
	switch kind {
	case 1:
		return []*watchTable{s.childWatches}
	case 2:
		return []*watchTable{s.dataWatches}
	case 3:
		return []*watchTable{s.childWatches, s.dataWatches}
	}
	return nil
}

// removeWatches takes away the client's watches of a kind on a path.
func (s *Server) removeWatches(c *conn, r versioned) Code {
	tables, removed := s.tablesOf(r.version), false
	for _, w := range tables {
		removed = w.remove(r.path, c) || removed
	}
	switch {
	case tables == nil:
		return wire.MarshallingError
	case !removed:
		return wire.NoWatcher
	}
	return wire.OK
}

// checkWatches tells whether a path is watched. As in ZooKeeper 3.8 a watch of
// another client's counts.
func (s *Server) checkWatches(r versioned) Code {
	tables := s.tablesOf(r.version)
	if tables == nil || r.path == null || r.path != "" && !hasSlash(r.path) {
		return wire.MarshallingError
	}
	if r.path != "" && slices.ContainsFunc(tables, func(w *watchTable) bool { return w.watched(r.path) }) {
		return wire.OK
	}
	return wire.NoWatcher
}
