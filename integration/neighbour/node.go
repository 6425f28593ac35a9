//go:build linux

package neighbour

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// place is where a contender stands.
type place struct {
	name  string
	token fencing.Token // the node's czxid
}

// find returns the one among the children that is its session's.
func (p *Process) find(dir string, children []string) (found place, err error) {
	// A holder is the first most of the time; its number ends its name.
	slices.SortFunc(children, func(a, b string) int {
		return cmp.Compare(a[max(0, len(a)-10):], b[max(0, len(b)-10):])
	})
	for _, child := range children {
		_, stat, err := p.Operator.Exists(dir + "/" + child)
		if err != nil {
			return place{}, err
		}
		if stat.EphemeralOwner != p.session {
			continue
		}
		token, err := fencing.FromUint64(uint64(stat.Czxid))
		return place{child, token}, err
	}
	return place{}, zk.ErrNoNode
}

// node finds the node of who holds.
func (p *Process) node(ctx context.Context) (place, error) {
	dir := p.Recipe.directory(p.Path)
	// The operator's server may be behind the holder's.
	_, err := p.Operator.Sync(dir)
	if err != nil {
		return place{}, fmt.Errorf("%s: sync: %w", p.Name, err)
	}
	children, _, err := p.Operator.Children(dir)
	if err != nil {
		return place{}, fmt.Errorf("%s: %s: %w", p.Name, dir, err)
	}
	found, err := p.find(dir, children)
	if err != nil {
		return place{}, fmt.Errorf("%s: its node among %q: %w", p.Name, children, errors.Join(err, context.Cause(ctx)))
	}
	return found, nil
}

// Enrolled waits until it stands in line, and returns its token-to-be. It must not
// have unlocked since.
func (w *Pending) Enrolled(ctx context.Context) (fencing.Token, error) {
	p := w.p
	dir := p.Recipe.directory(p.Path)
	// The operator's server may still have the node of its last hold.
	if _, err := p.Operator.Sync(dir); err != nil {
		return fencing.Token{}, fmt.Errorf("%s: sync: %w", p.Name, err)
	}
	for {
		children, _, change, err := p.Operator.ChildrenW(dir)
		if errors.Is(err, zk.ErrNoNode) {
			var there bool
			if there, _, change, err = p.Operator.ExistsW(dir); err == nil && there {
				continue // made since: this watch says nothing of what is made in it
			}
		}
		if err != nil {
			return fencing.Token{}, fmt.Errorf("%s: %s: %w", p.Name, dir, err)
		}
		found, err := p.find(dir, children)
		if err == nil {
			p.log.Add(history.Event{At: worker.Now(), Kind: history.Enrolled, Worker: p.Name, Path: p.Path, Attempt: p.attempt, Node: found.name})
			return found.token, nil
		}
		if !errors.Is(err, zk.ErrNoNode) {
			return fencing.Token{}, fmt.Errorf("%s: in line: %w", p.Name, err)
		}
		select {
		case <-change:
		case <-w.failed:
			return fencing.Token{}, w.err
		case <-ctx.Done():
			return fencing.Token{}, fmt.Errorf("%s: in line: no node of session %#x was seen among %q: %w", p.Name, p.session, children, context.Cause(ctx))
		}
	}
}
