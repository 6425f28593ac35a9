package session

import (
	"context"

	"github.com/go-zookeeper/zk"
)

type listKey struct {
	path string
	conn uint64
}

// Children lists path in a request begun after this call.
func (s *Session) Children(ctx context.Context, path string) ([]string, error) {
	return Await(ctx, s, s.StartChildren(path))
}

// children is the one request behind every list.
func children(path string) func(*zk.Conn) ([]string, error) {
	return func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	}
}

// lister has one list of a path under way at a time.
type lister struct {
	next *Pending[[]string] // for all who have asked since it was begun; nil if nobody has
}

// StartChildren is Children for whoever has more to ask in the same flight. While
// a list of path is under way, all who ask for another share the next one: were
// each to send its own, a crowd of n that queues up on one connection would have
// the server send n lists of up to n names, and what proves the session would
// stand behind them. The result is shared: read only.
func (s *Session) StartChildren(path string) *Pending[[]string] {
	p := newPending[[]string]()
	s.mu.Lock()
	l, busy := s.listers[path]
	if busy {
		if l.next == nil {
			l.next = p
		}
		p = l.next
	} else {
		s.listers[path] = &lister{}
	}
	s.mu.Unlock()
	if !busy {
		s.list(path, p)
	}
	return p
}

// list fulfils p and then what has been asked for meanwhile.
func (s *Session) list(path string, p *Pending[[]string]) {
	if s.client.Go(func() {
		for p != nil {
			p.run(s, children(path))
			p = s.nextList(path)
		}
	}) {
		return
	}
	for ; p != nil; p = s.nextList(path) {
		p.refuse()
	}
}

func (s *Session) nextList(path string) *Pending[[]string] {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.listers[path]
	p := l.next
	if l.next = nil; p == nil {
		delete(s.listers, path)
	}
	return p
}

// StartChildrenOn lists path for one of many who look again after reconnect
// number conn: whoever asks while the list is under way shares it. It was begun
// after that reconnect, which is all that they need. The result is shared: read
// only.
func (s *Session) StartChildrenOn(path string, conn uint64) *Pending[[]string] {
	s.mu.Lock()
	key := listKey{path, max(conn, s.conns)}
	p := s.lists[key]
	begin := p == nil
	if begin {
		p = newPending[[]string]()
		s.lists[key] = p
	}
	s.mu.Unlock()
	if begin && !s.client.Go(func() {
		p.run(s, func(c *zk.Conn) ([]string, error) {
			defer func() {
				s.mu.Lock()
				delete(s.lists, key)
				s.mu.Unlock()
			}()
			return children(path)(c)
		})
	}) {
		p.refuse()
	}
	return p
}
