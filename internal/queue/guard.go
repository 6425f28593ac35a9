package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// Guard watches our own node while it is held. It returns ErrGone once the node
// is known to be deleted, or the cause of ctx's or the session's end; nothing
// else uses the place meanwhile.
func (p *Place) Guard(ctx context.Context) error {
	r := retry{s: p.s}
	for {
		r.begin()
		conn, reconnected := p.s.Connection()
		var err error
		if p.ownConn != conn {
			if err = p.arm(ctx, conn); errors.Is(err, zk.ErrNoNode) {
				err = p.missing(ctx)
			}
		}
		switch {
		case errors.Is(err, ErrGone), errors.Is(err, errNotOurs):
			return ErrGone
		case err != nil:
			if err := r.pause(ctx); err != nil {
				return err
			}
			continue
		}
		r.wait = 0
		select {
		case <-p.own.Fired():
			p.ownConn = 0
			if p.own.Deleted() {
				return ErrGone
			}
		case <-reconnected:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.s.Context().Done():
			return context.Cause(p.s.Context())
		}
	}
}
