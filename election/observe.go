package election

import (
	"context"
	"fmt"
	"iter"
	"sync"

	"github.com/zkfence/zkfence/internal/queue"
)

// Observe yields who leads, at once and at each change; Leader{} and nil: nobody
// does. For a loop that is slow the newest wins: what came and went meanwhile is
// left out. It goes on over reconnects and sessions by reading again, and yields
// the same Leader twice in a row never.
//
// It ends when ctx does, or the loop, and then without an error. If it must stop
// sooner it yields an error last: zkconn.ErrClosed, zklock.ErrForeignRecipe, or a
// server's refusal, wrapped with the path. While no server can be reached nothing
// is yielded: what was yielded last may be old.
//
// It is news, not authority, and across sessions it may be older than what was
// yielded before; Epoch ranks them. All who observe one path on one Client share
// one watch, and at most two reads per change, which are sent up to 20 ms after it:
// the winner's own requests go first. The loop may take as long as it likes, and
// may close the Client.
func (e *Election) Observe(ctx context.Context) iter.Seq2[Leader, error] {
	return func(yield func(Leader, error) bool) {
		n, release, err := e.news()
		if err != nil {
			if ctx.Err() == nil {
				yield(Leader{}, fmt.Errorf("election: observe %s: %w", e.line.Dir, err))
			}
			return
		}
		defer release()
		var last Leader
		for told := false; ; {
			at := n.read()
			switch {
			case ctx.Err() != nil:
				return
			case at.err != nil:
				yield(Leader{}, fmt.Errorf("election: observe %s: %w", e.line.Dir, foreign(at.err)))
				return
			case at.known && (!told || at.leader != last):
				last, told = at.leader, true
				if !yield(at.leader, nil) {
					return
				}
				continue // which may have taken long
			}
			select {
			case <-at.changed:
			case <-ctx.Done():
			}
		}
	}
}

// news is what one Client knows about who leads one path, for all who observe it.
type news struct {
	mu sync.Mutex
	bulletin
}

// bulletin is one edition of it.
type bulletin struct {
	leader  Leader
	known   bool
	err     error         // why there will be no other
	changed chan struct{} // closed when there is another
}

// news joins the observers of this path on this Client.
func (e *Election) news() (n *news, release func(), err error) {
	v, release, err := e.client.Share("election\x00"+e.line.Dir, func() (any, func(context.Context)) {
		n := &news{bulletin: bulletin{changed: make(chan struct{})}}
		return n, func(ctx context.Context) {
			err := e.line.Follow(ctx, e.client, func(f queue.First) {
				l := Leader{}
				if f.Child != "" {
					l = leaderFrom(f)
				}
				n.publish(bulletin{leader: l, known: true})
			})
			n.publish(bulletin{err: err})
		}
	})
	if err != nil {
		return nil, nil, err
	}
	return v.(*news), release, nil
}

func (n *news) read() bulletin {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.bulletin
}

func (n *news) publish(b bulletin) {
	b.changed = make(chan struct{})
	n.mu.Lock()
	old := n.changed
	n.bulletin = b
	n.mu.Unlock()
	close(old)
}
