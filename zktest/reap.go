package zktest

import (
	"slices"
	"time"
)

// noteEmpty puts a node on the list of those to be reaped, if it is one.
func (t *tree) noteEmpty(path string, n *znode) {
	if n.kind == container && n.counter > 0 && n.children.len() == 0 {
		t.empty[path] = struct{}{}
	}
}

// reapable returns the paths of what the reaper deletes at now, sorted: the
// containers that have had children and have none, and the nodes that have no
// children and have not been changed for longer than their TTL.
func (t *tree) reapable(now int64) []string {
	paths := sortedKeys(t.empty)
	for p := range t.transient {
		if n := t.nodes[p]; n.children.len() == 0 && now-n.mtime > n.ttl {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	return paths
}

// reap deletes what is to be reaped, each under its own zxid.
func (s *Server) reap() int {
	paths := s.ahead.tree.reapable(time.Now().UnixMilli())
	for _, path := range paths {
		s.commit(&txn{op: OpDelete, changes: []change{{op: OpDelete, path: path}}}, nil)
	}
	return len(paths)
}

// ReapContainers deletes the containers that have lost their last child, and the
// nodes without children that have not been changed for longer than their TTL,
// as the server does by itself every so often (WithContainerInterval). It
// returns how many went; 0 on a server of an ensemble that has no leader, or
// loses it meanwhile.
func (s *Server) ReapContainers() int {
	n := 0
	err := s.command(func(leader *Server) error {
		s.acted("ReapContainers", Request{}, "")
		n = leader.reap()
		return nil
	})
	if err != nil {
		// The leader may still be at it.
		return 0
	}
	return n
}
