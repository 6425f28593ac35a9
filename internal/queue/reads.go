package queue

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// window is how many reads of one list are under way at a time: enough to hide
// the round trip, too few to crowd out a proof.
const window = 16

// ask sends one read per child, window at a time. A child that is gone is not in
// the answer. The first error ends it.
func ask[T any](ctx context.Context, s *session.Session, children []string, read func(*zk.Conn, string) (T, bool, error)) (map[string]T, error) {
	type reply struct {
		value T
		there bool
	}
	got := make(map[string]T, len(children))
	asked := make([]*session.Pending[reply], 0, window)
	for begin := 0; begin < len(children); begin += window {
		batch := children[begin:min(begin+window, len(children))]
		asked = asked[:0]
		for _, child := range batch {
			asked = append(asked, session.Start(s, func(c *zk.Conn) (reply, error) {
				v, there, err := read(c, child)
				return reply{v, there}, err
			}))
		}
		for i, p := range asked {
			select {
			case <-p.Done():
			case <-ctx.Done():
				return nil, session.Ended(ctx)
			case <-s.Context().Done():
				return nil, context.Cause(s.Context())
			}
			r, err := p.Result()
			if err != nil {
				return nil, err
			}
			if r.there {
				got[batch[i]] = r.value
			}
		}
	}
	return got, nil
}

// stats asks for existence alone, which no ACL refuses.
func stats(ctx context.Context, s *session.Session, l Line, children []string) (map[string]zk.Stat, error) {
	return ask(ctx, s, children, func(c *zk.Conn, child string) (zk.Stat, bool, error) {
		there, st, err := c.Exists(l.pathOf(child))
		if err != nil {
			return zk.Stat{}, false, err
		}
		return *st, there, nil
	})
}
