package queue

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
)

// Departure is a place that must go.
type Departure struct {
	done    <-chan struct{}
	proven  atomic.Bool
	refused *refusals
}

// Done is closed once the nodes are proven to be gone or their session has
// ended, which takes them with it.
func (d *Departure) Done() <-chan struct{} { return d.done }

// Proven reports, after Done, that the deletes were answered.
func (d *Departure) Proven() bool { return d.proven.Load() }

// Refused is closed at the first definite refusal. The departure goes on: what
// a server refuses today it may allow once its ACLs are put right.
func (d *Departure) Refused() <-chan struct{} { return d.refused.first }

// Refusal is the newest refusal, a *RefusedError; nil if there was none.
func (d *Departure) Refusal() error { return d.refused.err() }

// Leave gives up the place: every node that is or may come to be there is
// deleted, on no caller's time. It returns at once, unless a create's call is
// still under way: until that has returned, or the session has ended, nobody can
// say what is to be deleted.
func (p *Place) Leave() *Departure { return p.leave(p.s.Owe) }

// LeaveHere is Leave for a library goroutine that would only wait for it: the
// first try is made on it.
func (p *Place) LeaveHere() *Departure { return p.leave(p.s.Settle) }

func (p *Place) leave(owe func(func(context.Context) bool) *session.Debt) *Departure {
	if p.create != nil {
		select {
		case <-p.create.Done():
			if path, err := p.created(); err == nil && !p.is(path) {
				p.doubted = true
			}
		case <-p.s.Context().Done():
			return &Departure{done: closed(), refused: newRefusals()} // the session has taken along what may be there
		}
	}
	d := &Departure{refused: newRefusals()}
	if p.path == "" && !p.doubted {
		d.proven.Store(true)
		d.done = closed()
		return d
	}
	d.done = owe(func(ctx context.Context) bool {
		if p.path != "" && !p.remove(p.path, d.refused) || p.doubted && !p.sweep(ctx, d.refused) {
			return false
		}
		d.proven.Store(true)
		return true
	}).Done()
	return d
}

// owe has one node of ours deleted that is not our place.
func (p *Place) owe(path string) {
	refused := newRefusals() // nobody waits for this one
	p.s.Owe(func(context.Context) bool { return p.remove(path, refused) })
}

// remove reports that the node of exactly this name is gone. It is called on
// other goroutines than the place's own, and reads only what is never written.
func (p *Place) remove(path string, refused *refusals) bool {
	_, err := session.Here(p.s, func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(path, -1)
	})
	// A retry of a delete whose answer was lost finds nothing, and that is it.
	if err == nil || errors.Is(err, zk.ErrNoNode) {
		return true
	}
	if session.OutcomeOf(err) == session.OutcomeRefused {
		p.line.Log.Warn("cannot delete our own node; it stays while the session lives", zap.String("node", path), zap.Error(err))
		refused.add(&RefusedError{Verb: "delete", Node: path, Err: err})
	}
	return false
}

// sweep deletes what stands under our GUID and our session, and reports that
// nothing is left. Every create's call has returned when it begins.
func (p *Place) sweep(ctx context.Context, refused *refusals) bool {
	found, err := p.search(ctx)
	if err != nil {
		if session.OutcomeOf(err) == session.OutcomeRefused {
			p.line.Log.Warn("cannot look for a node that may be ours; it stays while the session lives", zap.String("dir", p.line.Dir), zap.Error(err))
			refused.add(&RefusedError{Verb: "list", Node: p.line.Dir, Err: err})
		}
		return false
	}
	for _, t := range found {
		if !p.remove(p.line.pathOf(t.child), refused) {
			return false
		}
	}
	return true
}

func closed() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}
