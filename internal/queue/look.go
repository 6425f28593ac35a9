package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
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
	var proof *session.Pending[struct{}]
	if g.prove {
		proof = p.s.StartProof(p.path)
	}
	// A list shared on the connection that our node was made on may be older
	// than the node.
	var list *session.Pending[[]string]
	if g.shared && conn > p.since {
		list = p.s.StartChildrenOn(p.line.Dir, conn)
	} else {
		list = p.s.StartChildren(p.line.Dir)
	}
	var proveErr, armErr, listErr error
	if p.own == nil || p.ownConn != conn {
		armErr = p.arm(ctx, conn)
	}
	children, listErr = session.Await(ctx, p.s, list)
	if proof != nil {
		_, proveErr = session.Await(ctx, p.s, proof)
		proveErr = verdict(proveErr)
	}

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
	return verdict(p.s.Prove(ctx, p.path))
}

func verdict(err error) error {
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
