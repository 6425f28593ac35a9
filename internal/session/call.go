package session

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Pending is a request that runs on a goroutine of its own. A zk.Conn takes no
// context, so a caller whose context ends can only turn away from it.
type Pending[T any] struct {
	done     chan struct{}
	value    T
	err      error
	panicked any
}

var errNoReturn = errors.New("zkconn: op did not return")

// Start runs op on s, on a goroutine that Client.Close waits for.
func Start[T any](s *Session, op func(*zk.Conn) (T, error)) *Pending[T] {
	p := newPending[T]()
	if !s.client.Go(func() { p.run(s, op) }) {
		p.refuse()
	}
	return p
}

func newPending[T any]() *Pending[T] { return &Pending[T]{done: make(chan struct{})} }

// refuse is what becomes of a request that nobody sends any more.
func (p *Pending[T]) refuse() {
	p.err = ErrClosed
	close(p.done)
}

func (p *Pending[T]) run(s *Session, op func(*zk.Conn) (T, error)) {
	defer close(p.done)
	defer func() { p.panicked = recover() }()
	p.err = errNoReturn // stands if op ends the goroutine
	p.value, p.err = op(s.zk)
}

// Done is closed once op has returned. Until then its request can still be sent.
func (p *Pending[T]) Done() <-chan struct{} { return p.done }

// Result is op's, after Done. A panic of op is raised here.
func (p *Pending[T]) Result() (T, error) {
	if p.panicked != nil {
		panic(p.panicked)
	}
	return p.value, p.err
}

// Call runs op on s and waits for it, for ctx and for the end of the session,
// whichever comes first. The error is op's, ctx's cause, or a *LostError.
func Call[T any](ctx context.Context, s *Session, op func(*zk.Conn) (T, error)) (T, error) {
	var zero T
	if err := s.ready(ctx); err != nil {
		return zero, err
	}
	return Await(ctx, s, Start(s, op))
}

// CallForeign is Call for an op of the user's, which Client.Close does not wait
// for: it may be the one that calls Close.
func CallForeign[T any](ctx context.Context, s *Session, op func(*zk.Conn) (T, error)) (T, error) {
	var zero T
	if err := s.ready(ctx); err != nil {
		return zero, err
	}
	p := newPending[T]()
	go p.run(s, op) // ends with op, whose requests all return when the session ends
	return Await(ctx, s, p)
}

func (s *Session) ready(ctx context.Context) error {
	if ctx.Err() != nil {
		return Ended(ctx)
	}
	return s.Err()
}

// Await waits for p, for ctx and for the end of the session, like Call.
func Await[T any](ctx context.Context, s *Session, p *Pending[T]) (T, error) {
	var zero T
	select {
	case <-p.done:
	case <-ctx.Done():
		select {
		case <-p.done:
		default:
			return zero, Ended(ctx)
		}
	case <-s.fused:
		select {
		case <-p.done:
		default:
			return zero, s.Err()
		}
	}
	v, err := p.Result()
	return v, s.explain(err)
}

// Here runs op on s on this goroutine: for the library's own goroutines, when
// nobody's context is to be heeded. It returns when the request is answered or
// the session has ended.
func Here[T any](s *Session, op func(*zk.Conn) (T, error)) (T, error) {
	if err := s.Err(); err != nil {
		var zero T
		return zero, err
	}
	v, err := op(s.zk)
	return v, s.explain(err)
}

// explain puts the end of the session in place of the zk.Conn's way to say that
// it was closed, which is no news to a caller. What else an op had to say is kept.
func (s *Session) explain(err error) error {
	if err == nil || OutcomeOf(err) != OutcomeUnknown {
		return err
	}
	lost := s.Err()
	switch {
	case lost == nil, errors.Is(err, ErrLost):
		return err
	case errors.Is(err, zk.ErrConnectionClosed), errors.Is(err, zk.ErrClosing), errors.Is(err, zk.ErrSessionExpired):
		return lost
	}
	return fmt.Errorf("%w: %w", lost, err)
}
