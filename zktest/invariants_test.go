package zktest

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// intact asserts what holds of a server's state between any two requests,
// whatever clients have sent it.
func intact(t testing.TB, s *Server) {
	t.Helper()
	s.mu.Lock()
	defer s.unlock()
	require.Same(t, s.tree.nodes[""], s.tree.nodes["/"])
	children, ephemerals := 0, 0
	for p, n := range s.tree.nodes {
		for _, zxid := range []int64{n.czxid, n.mzxid, n.pzxid} {
			require.LessOrEqual(t, zxid, s.zxid, "%q is of the future", p)
		}
		require.LessOrEqual(t, n.czxid, n.mzxid, "%q", p)
		require.NotEmpty(t, n.acl, "%q", p)
		if p != "/" { // the same node is there as ""
			children += n.children.len()
			require.Len(t, n.children.list(), n.children.len(), "%q", p)
			require.GreaterOrEqual(t, int(n.counter)+2, n.children.len(), "%q has children that nobody created", p)
		}
		if _, empty := s.tree.empty[p]; empty {
			require.True(t, n.kind == container && n.children.len() == 0, "%q is not to be reaped", p)
		}
		if n.kind == ephemeral {
			ephemerals++
			require.NotNil(t, s.sessions[n.owner], "%q outlives its session", p)
			require.True(t, has(s.tree.ephemerals[n.owner], p), "%q is not its session's", p)
			require.Zero(t, n.children.len(), "%q is ephemeral", p)
		}
		if p != "" && p != "/" {
			up, name := split(p)
			parent := s.tree.nodes[up]
			require.NotNil(t, parent, "%q has no parent", p)
			require.True(t, parent.children.has(name), "%q is not listed below its parent", p)
		}
	}
	// Every node is listed, so if there are no more names than nodes, none is
	// listed that is not there.
	require.Equal(t, len(s.tree.nodes)-2, children)
	for _, own := range s.tree.ephemerals {
		ephemerals -= len(own)
	}
	require.Zero(t, ephemerals, "of more ephemerals than there are")

	for id, sess := range s.sessions {
		require.Equal(t, id, sess.id)
		require.NotNil(t, s.tracker[id], "a session that never expires")
	}
	require.Len(t, s.tracker, len(s.sessions))
	for id, c := range s.attached {
		require.NotNil(t, s.sessions[id])
		require.True(t, has(s.conns, c))
		require.Equal(t, id, c.session)
		require.False(t, c.over)
	}
	for _, w := range []*watchTable{s.dataWatches, s.childWatches} {
		held := 0
		for _, table := range []map[string]map[*conn]watchMode{w.at, w.above} {
			for path, at := range table {
				held += len(at)
				require.NotEmpty(t, at)
				for c := range at {
					require.True(t, has(w.byConn[c], path))
					require.False(t, c.over, "a watch of a connection that has ended")
				}
			}
		}
		require.Equal(t, w.count(), held)
	}
}

// has looks a key up. That of testify compares it with every other in depth, and
// a connection is in use by others.
func has[K comparable](set map[K]struct{}, key K) bool {
	_, found := set[key]
	return found
}

func (s *names) has(name string) bool {
	if s.n == 0 {
		return false
	}
	_, found := slices.BinarySearch(s.blocks[s.block(name)], name)
	return found
}
