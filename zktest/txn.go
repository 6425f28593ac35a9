package zktest

import (
	"maps"
	"time"
)

// txn is a transaction: a write that has been judged, with its place in the
// log. A refused one is a transaction too, for it takes a zxid. Servers that
// apply the same transactions in order have the same tree and the same table of
// sessions; nothing of a txn changes once it has a zxid.
type txn struct {
	zxid    int64
	now     int64 // when it got its zxid, in ms since 1970
	op      Op    // the request's; of a session's begin and end as well
	origin  origin
	session int64 // whose it is; for a session's begin and end, which
	code    Code  // why it was refused; OK if it was not
	changes []change

	expired bool // of a session's end: its client has not asked for it

	// Of a session that begins.
	timeout time.Duration
	pinned  bool
}

// state is what the log of transactions builds. Server.mu guards it.
type state struct {
	zxid     int64 // of the last transaction applied
	tree     *tree
	sessions map[int64]*session
}

// clone returns a copy that shares nothing that changes.
func (s *state) clone() state {
	return state{zxid: s.zxid, tree: s.tree.clone(), sessions: maps.Clone(s.sessions)}
}

func newState(legacy bool) state {
	return state{tree: newTree(legacy), sessions: map[int64]*session{}}
}

// apply makes t part of the state, tells notify of each path that something
// happened to, and appends to stats those of the nodes created or changed, one
// for each change.
func (s *state) apply(t *txn, stats []Stat, notify notifier) []Stat {
	s.zxid = t.zxid
	for _, c := range t.changes {
		stats = append(stats, s.tree.apply(c, t.zxid, t.now, notify))
	}
	if t.code != 0 {
		return stats
	}
	switch t.op {
	case OpCreateSession:
		s.sessions[t.session] = &session{id: t.session, timeout: t.timeout, pinned: t.pinned}
	case OpCloseSession:
		delete(s.sessions, t.session)
	}
	return stats
}
