package znodefence

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
)

// endedError is why ctx has ended, in the answer to something that was done with it.
// Whatever the cause is, it is nobody's word about that: not a server's about the
// request (session.Ended), not a guard's about the command (fencing.Ended), and not
// this package's about either.
//
//	A  sends its multi; it is on its way
//	B  has one of its own refused, and so ends the ctx that it shares with A, as in an
//	   errgroup, with its *WriteError
//	A  turns away with that; who sees a *WriteError in it takes it for "nothing was
//	   applied", and gives the command to the next Stamp
//	   the multi is applied, and then the other
type endedError struct {
	text         string
	store, guard error
}

func ended(ctx context.Context) *endedError {
	return &endedError{context.Cause(ctx).Error(), session.Ended(ctx), fencing.Ended(ctx)}
}

// verdicts are what this package says of one command.
var verdicts = []error{ErrOwnerGone, ErrNotRead, errForeign, errMoved}

func (e *endedError) Error() string { return e.text }

// Is is errors.Is of the cause, but for verdicts.
func (e *endedError) Is(target error) bool {
	return !slices.Contains(verdicts, target) && errors.Is(e.store, target) && errors.Is(e.guard, target)
}

// As is errors.As of the cause, but for refusals.
func (e *endedError) As(target any) bool {
	if _, verdict := target.(**WriteError); verdict {
		return false
	}
	return errors.As(e.guard, target)
}

// session is the client's, for as long as ctx lasts.
func (g *Guard) session(ctx context.Context) (*zkconn.Session, error) {
	s, err := g.client.Session(ctx)
	if err != nil && ctx.Err() != nil {
		e := ended(ctx)
		e.text = err.Error() // it names the servers
		return nil, e
	}
	return s, err
}

// call is zkconn.Call for what may be asked again: it changes nothing, or nothing more
// the second time. An error after the end of ctx is ended's.
func call[T any](ctx context.Context, s *zkconn.Session, op func(*zk.Conn) (T, error)) (T, error) {
	v, err := zkconn.Call(ctx, s, op)
	if err != nil && ctx.Err() != nil {
		return v, ended(ctx)
	}
	return v, err
}
