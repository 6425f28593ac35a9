package znodefence

import (
	"context"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zkconn"
)

// multi returns which of the operations failed, -1 if none did or nobody has said, and
// whether they are lost: they may have been applied, or may be yet.
//
// That no answer came is asked before what the error is like: it can be ctx's cause,
// and look like an answer.
func multi(ctx context.Context, s *zkconn.Session, ops []any) (culprit int, lost bool, err error) {
	if ctx.Err() != nil {
		return -1, false, ended(ctx)
	}
	type answer struct {
		culprit int
		err     error
	}
	a, err := zkconn.Call(ctx, s, func(c *zk.Conn) (answer, error) {
		results, err := c.Multi(ops...)
		// Before the culprit stand nil errors though nothing was done.
		culprit := slices.IndexFunc(results, func(r zk.MultiResponse) bool { return r.Error != nil })
		if culprit >= 0 {
			err = results[culprit].Error
		}
		return answer{culprit, err}, nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return -1, true, ended(ctx)
	case err != nil: // the session has ended
		return -1, true, err
	}
	return a.culprit, session.OutcomeOf(a.err) == session.OutcomeUnknown, a.err
}

// frameSize is the length of what a multi is on the wire, as a server compares it with
// jute.maxbuffer.
func frameSize(ops []any) int {
	const number, operation = 4, 4 + 1 + 4 // an operation's type, "no more", error
	text := func(s string) int { return number + len(s) }
	n := wire.RequestHeaderLen + operation // the last says that there are no more
	for _, op := range ops {
		n += operation
		switch op := op.(type) {
		case *zk.CheckVersionRequest:
			n += text(op.Path) + number
		case *zk.DeleteRequest:
			n += text(op.Path) + number
		case *zk.SetDataRequest:
			n += text(op.Path) + number + len(op.Data) + number
		case *zk.CreateRequest:
			n += text(op.Path) + number + len(op.Data) + number + number
			for _, acl := range op.Acl {
				n += number + text(acl.Scheme) + text(acl.ID)
			}
		}
	}
	return n
}
