package zklock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
)

// Mutex is a lock path on one Client. It owns nothing: each attempt to hold the
// lock is its own, so a Mutex is safe for concurrent use, need not be closed,
// and excludes another Mutex of the same path in the same process as it does one
// on another machine. New makes one; the zero Mutex is of no use.
type Mutex struct {
	client   *session.Client
	line     queue.Line
	cfg      config
	log      *zap.Logger
	attempts atomic.Uint64
}

// New returns a Mutex for path, which is absolute and below the Client's root.
// Contenders are children of that znode, which is made when it is first needed;
// nothing else should be kept in it. The error names what is wrong with which
// argument; no request is sent.
//
// Of a directory that exists already the client needs CREATE, READ and DELETE.
// Without DELETE the lock is granted and cannot be given back: Unlock says so at
// once, and the node blocks all behind it for as long as the session lives.
func New(c *zkconn.Client, path string, opts ...Option) (*Mutex, error) {
	if c == nil {
		return nil, errors.New("zklock: client = nil")
	}
	in := c.Internal()
	if in == nil {
		return nil, errors.New("zklock: client is the zero zkconn.Client; zkconn.Dial makes one that is connected")
	}
	dir, err := fullPath(in.Root(), path)
	if err != nil {
		return nil, err
	}
	m := &Mutex{client: in, cfg: config{data: []byte(in.Identity())}, log: in.Logger().Named("zklock").With(zap.String("path", dir))}
	for i, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("zklock: option %d is nil", i)
		}
		if err := opt(&m.cfg); err != nil {
			return nil, err
		}
	}
	m.line = queue.Line{Dir: dir, Data: m.cfg.data, ACL: slices.Clone(in.ACL()), Log: m.log}
	return m, nil
}

// Lock waits until the lock is held, first come, first served among all clients
// of the path. A session lost while waiting costs the place in line, not the
// call.
//
// ctx bounds the wait alone, never the Hold. If it ends before the grant is
// proven the attempt is given back and the error wraps ctx's cause and says what the
// wait was at: a session, the enrolment, or which contender; if the grant
// was proven first, the Hold is returned although ctx has ended since. Other
// errors, all wrapped with the path: ErrQueueFull, ErrEvicted,
// ErrForeignRecipe, zkconn.ErrClosed, and refusals of the server such as
// zk.ErrNoAuth; New says which permissions it takes. After an error no node stays behind: what cannot be deleted at
// once is deleted when the ensemble can be reached, or goes with the session.
func (m *Mutex) Lock(ctx context.Context) (*Hold, error) {
	return m.acquire(ctx, "lock", false)
}

// TryLock is Lock that waits for no other contender: if anybody holds or waits,
// the error wraps ErrLocked, and its node is gone unless ctx ended first or a
// server refused the delete, which the error then wraps as well. It
// still waits, until ctx ends, for a session and for the round trips. Two that
// meet can both find the other waiting.
func (m *Mutex) TryLock(ctx context.Context) (*Hold, error) {
	return m.acquire(ctx, "try lock", true)
}

func (m *Mutex) acquire(ctx context.Context, op string, try bool) (*Hold, error) {
	if ctx.Err() != nil {
		return nil, fmt.Errorf("zklock: %s %s: %w", op, m.line.Dir, context.Cause(ctx))
	}
	a := newAttempt(ctx, m, op, try)
	if !m.client.Go(a.run) {
		return nil, fmt.Errorf("zklock: %s %s: %w", op, m.line.Dir, session.ErrClosed)
	}
	<-a.decided // run watches ctx
	return a.hold, a.err
}

// Do holds the lock while fn runs.
//
// fn's context has the values of ctx and the Token. It ends when ctx ends, with
// ctx's cause, or when the hold does; it shows no deadline. Do releases after fn
// has returned, on a context of its own bounded by the session timeout, and what
// is not proven by then is carried out later and no error of Do. A panic in fn,
// or runtime.Goexit, releases as well and then goes on.
//
// A nil fn is an error, and the lock is not taken for it.
//
// The error is Lock's; else fn's, joined with the hold's *LostError if the hold
// was lost before fn returned, also when fn returned nil: its work may have been
// refused, or overtaken. Unlock's error is joined if a server refused to delete
// the node: the next Do would wait behind it. If fn returns its context's Err,
// context.Canceled, because ctx has ended, the error wraps ctx's cause too.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, h *Hold) error) (err error) {
	if fn == nil {
		return fmt.Errorf("zklock: do %s: fn = nil", m.line.Dir)
	}
	h, err := m.acquire(ctx, "lock", false)
	if err != nil {
		return err
	}
	inner, cancel := context.WithCancelCause(h.Context())
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	returned := false
	defer func() {
		stop()
		failed := h.settle(ctx)
		cancel(ErrReleased)
		if returned && failed != nil && !errors.Is(err, failed) {
			err = errors.Join(err, failed)
		}
	}()
	err = fn(inner, h)
	returned = true
	h.a.trace.returned(err)
	return explained(inner, ctx, err)
}

// explained adds to the Err of fn's context what it cannot say: a derived
// context that was cancelled by hand calls its end Canceled when its parent's
// was a deadline.
func explained(inner, outer context.Context, err error) error {
	cause := context.Cause(outer)
	//nolint:errorlint // an error of fn's own, wrapping that one or not, is returned as it is
	if err != context.Canceled || cause == nil || errors.Is(err, cause) || !errors.Is(context.Cause(inner), cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// settle releases for Do and returns the loss that came first, if one did, or
// a server's refusal.
func (h *Hold) settle(ctx context.Context) error {
	// ctx is most likely what ended fn; the delete must not end with it.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.session.Timeout())
	defer cancel()
	err := h.Unlock(ctx)
	var lost *LostError
	if errors.As(err, &lost) {
		return lost
	}
	var refused *queue.RefusedError
	if errors.As(err, &refused) {
		return err
	}
	if err != nil {
		h.a.log.Warn("release not proven in time; it is carried out when the ensemble can be reached", zap.Error(err))
	}
	return nil
}
