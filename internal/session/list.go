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

// StartChildren is Children for whoever has more to ask in the same flight.
func (s *Session) StartChildren(path string) *Pending[[]string] {
	return Start(s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	})
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
		p = &Pending[[]string]{done: make(chan struct{})}
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
			names, _, err := c.Children(path)
			return names, err
		})
	}) {
		p.err = ErrClosed
		close(p.done)
	}
	return p
}
