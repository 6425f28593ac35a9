package zktest

import (
	"cmp"
	"slices"
	"time"
)

// tracked is a session as the server sees it that may end it.
type tracked struct {
	id      int64
	timeout time.Duration // as last negotiated
	due     time.Duration // when it expires, on the server's clock; a multiple of the tick
	pinned  bool          // never
	closing bool          // its end has been judged
	owner   *member       // the server of an ensemble that it writes through
}

// touch gives a session its whole timeout again, rounded up to the next tick;
// false if there is none, or it is ending.
func (s *Server) touch(id int64, timeout time.Duration) bool {
	t := s.tracker[id]
	if t == nil || t.closing {
		return false
	}
	t.timeout = timeout
	t.due = ((s.now()+timeout)/s.tick + 1) * s.tick
	if s.member == nil && !t.pinned && t.due < s.armed {
		s.retime = true
	}
	return true
}

// expireDue ends the sessions whose time is over, the longest overdue first.
func (s *Server) expireDue() {
	now := s.now()
	var due []*tracked
	for _, t := range s.tracker {
		if !t.pinned && !t.closing && t.due <= now {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b *tracked) int {
		return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.id, b.id))
	})
	for _, t := range due {
		s.expire(t.id)
	}
}
