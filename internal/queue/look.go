package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"
)

// glance says what one look asks for. Without either, an answer that proves our
// node has come in since the last look.
type glance struct {
	prove  bool // a quorum proof of our own node
	shared bool // the list that all who look after one reconnect share; proven only if first
}

// fly sends everything that a look needs in one flight: the list, the own-node
// watch if this connection has none yet, and the proof if it is asked for. The
// order in which they are answered does not matter (invariant 4).
func (p *Place) fly(ctx context.Context, conn uint64, g glance) (children []string, err error) {
	var proveErr, armErr, listErr error
	var wg sync.WaitGroup
	if g.prove {
		wg.Go(func() { proveErr = p.prove(ctx) })
	}
	if p.own == nil || p.ownConn != conn {
		wg.Go(func() { armErr = p.arm(ctx, conn) })
	}
	// A list shared on the connection that our node was made on may be older
	// than the node.
	if g.shared && conn > p.since {
		children, listErr = p.s.ChildrenOn(ctx, p.line.Dir, conn)
	} else {
		children, listErr = p.s.Children(ctx, p.line.Dir)
	}
	wg.Wait()

	switch {
	case errors.Is(proveErr, ErrGone):
		return nil, ErrGone
	case errors.Is(armErr, errNotOurs):
		return nil, errNotOurs
	case errors.Is(armErr, zk.ErrNoNode), errors.Is(listErr, zk.ErrNoNode):
		return nil, p.missing(ctx)
	}
	for _, err := range [...]error{proveErr, armErr, listErr} {
		if err != nil {
			return nil, err
		}
	}
	return children, nil
}

// errUnseen: a read does not show our node, and a majority says that it is there.
var errUnseen = errors.New("queue: the server that answered lags behind")

// missing is asked when a read does not show our node.
func (p *Place) missing(ctx context.Context) error {
	if err := p.prove(ctx); err != nil {
		return err
	}
	return errUnseen
}

// prove returns nil if a majority says that our node is there, ErrGone if it
// says the opposite. A server that refuses to let us check the node has found it.
func (p *Place) prove(ctx context.Context) error {
	err := p.s.Prove(ctx, p.path)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return ErrGone
	case errors.Is(err, zk.ErrNoAuth):
		return nil
	}
	return err
}

// arm watches our own node and takes token and owner from the same answer.
func (p *Place) arm(ctx context.Context, conn uint64) error {
	w, err := p.s.Watch(ctx, p.path)
	if err != nil {
		return err
	}
	st := w.Stat()
	if st.EphemeralOwner != p.s.ID() || p.czxid != 0 && p.czxid != st.Czxid {
		return errNotOurs
	}
	p.own, p.ownConn, p.czxid = w, conn, st.Czxid
	return nil
}

// forget gives up the node that turned out to be another session's. Ours may
// still be somewhere, so the search comes next.
func (p *Place) forget() {
	p.path, p.node, p.czxid = "", Name{}, 0
	p.unsettled, p.doubted, p.proven = true, true, false
	p.own, p.ownConn = nil, 0
}

// judge reads a list that must contain our own node.
func (p *Place) judge(ctx context.Context, children []string, on Events) (standing, error) {
	var contenders []Name
	listed := false
	for _, child := range children {
		n := Parse(child)
		switch n.Kind {
		case Foreign:
			return standing{}, &ForeignError{Child: child}
		case Stranger:
			p.report(child, on)
			continue
		}
		listed = listed || child == p.node.Child
		contenders = append(contenders, n)
	}
	if !listed {
		return standing{}, p.missing(ctx)
	}
	contenders, err := p.withoutTwins(ctx, contenders)
	if err != nil {
		return standing{}, err
	}
	if sequenced(contenders) {
		return bySequence(contenders, p.node), nil
	}
	if err := p.date(ctx, contenders); err != nil {
		return standing{}, err
	}
	return byCzxid(contenders, p.node, p.ages), nil
}

func (p *Place) report(child string, on Events) {
	if _, ok := p.reported[child]; ok || on.Ignored == nil {
		return
	}
	if p.reported == nil {
		p.reported = make(map[string]struct{})
	}
	p.reported[child] = struct{}{}
	on.Ignored(child)
}

// withoutTwins takes out nodes with our GUID that our session owns, each of
// which is a debt: waited for, it would block us and all behind us for ever.
func (p *Place) withoutTwins(ctx context.Context, contenders []Name) ([]Name, error) {
	var unknown []string
	any := false
	for _, n := range contenders {
		if n.Child == p.node.Child || !carries(n.Child, p.guid) {
			continue
		}
		any = true
		if _, ok := p.twins[n.Child]; !ok {
			unknown = append(unknown, n.Child)
		}
	}
	if !any {
		return contenders, nil
	}
	if p.twins == nil {
		p.twins = make(map[string]bool)
	}
	found, err := stats(ctx, p.s, p.line, unknown)
	if err != nil {
		return nil, fmt.Errorf("read the owner of a node with our GUID: %w", err)
	}
	for _, child := range unknown {
		st, there := found[child]
		p.twins[child] = there && st.EphemeralOwner == p.s.ID()
		if p.twins[child] {
			p.owe(p.line.pathOf(child))
		}
	}
	kept := contenders[:0]
	for _, n := range contenders {
		if n.Child == p.node.Child || !p.twins[n.Child] {
			kept = append(kept, n)
		}
	}
	return kept, nil
}

// date brings p.ages up to date with the contenders of one list.
func (p *Place) date(ctx context.Context, contenders []Name) error {
	ages := make(map[string]int64, len(contenders))
	var unknown []string
	for _, n := range contenders {
		if n.Child == p.node.Child {
			ages[n.Child] = p.czxid
		} else if age, ok := p.ages[n.Child]; ok {
			ages[n.Child] = age
		} else {
			unknown = append(unknown, n.Child)
		}
	}
	found, err := stats(ctx, p.s, p.line, unknown)
	if err != nil {
		return fmt.Errorf("read the age of contenders: %w", err)
	}
	for child, st := range found {
		ages[child] = st.Czxid
	}
	p.ages = ages
	return nil
}
