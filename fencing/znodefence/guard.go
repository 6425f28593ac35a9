package znodefence

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/pause"
	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zkconn"
)

// maxTries bounds how often one call begins anew after others have moved the memory,
// or after an answer was lost.
const maxTries = 1000

var (
	// ErrOwnerGone says that the znode of the owner's lock is gone: it has lost, and
	// nothing was written.
	ErrOwnerGone = errors.New("znodefence: the owner's lock node is gone")
	// ErrNotRead says that a write has no version that was read. Nothing was sent.
	ErrNotRead = errors.New("znodefence: no version that was read")
	// ErrTooLarge says that a command is larger than what a server reads by default
	// (jute.maxbuffer). Nothing of it was sent.
	ErrTooLarge = errors.New("znodefence: the command is too large for one multi")
	errNotMade  = errors.New("znodefence: guard was not made by New")
	errNoWrites = errors.New("znodefence: Do was given no function")
	errCrowded  = errors.New("znodefence: others have moved the memory at each of 1000 tries")
)

// Owner is a *zklock.Hold or an *election.Term.
type Owner interface {
	Token() fencing.Token
	// Internal is for this module's own packages: nobody else can name its type.
	Internal() queue.Held
}

// isNil reports whether a pointer that was never set stands in o. To take it for no
// Owner would let the command through with less than its program has asked for.
func isNil(o Owner) bool {
	v := reflect.ValueOf(o)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

// Command is what is judged of a command.
type Command struct {
	Resource string
	Stamp    fencing.Stamp
	// Owner's lock node must exist when the command is applied. Nil: it is judged by
	// its Stamp alone, as where the lock is in another ensemble. A nil *Hold or *Term
	// is a mistake, and refused.
	Owner Owner
}

// Guard guards the resources whose memories stand below one path. It is safe for
// concurrent use; any number of Guards, in any processes, with the same path are one.
// Make it with New; the zero Guard refuses everything.
type Guard struct {
	client *zkconn.Client
	dir    string
	acl    []zk.ACL
}

// New returns a Guard that keeps memories below the znode dir, which is made with its
// parents when the first one is. It is a full path: the client's root is not put
// before it, nor before those of a Tx. Nobody else should write there, and nothing
// be deleted: with a memory goes its floor. Memories get the client's ACL.
func New(client *zkconn.Client, dir string) (*Guard, error) {
	if client == nil || client.Internal() == nil {
		return nil, errors.New("znodefence: the client is nil; zkconn.Dial returns one")
	}
	if err := session.CheckPath("dir", dir); err != nil {
		return nil, fmt.Errorf("znodefence: %w", err)
	}
	return &Guard{client: client, dir: dir, acl: slices.Clone(client.Internal().ACL())}, nil
}

func (g *Guard) made() error {
	if g == nil || g.client == nil {
		return errNotMade
	}
	return nil
}

// Do runs write, which reads and says what to write by way of its Tx, and applies
// all of that or nothing. It may run several times, when another command has come
// between or an answer was lost: it must do nothing but read and say.
//
// A nil error: applied. One matching fencing.ErrUnknownOutcome: it may have been,
// whatever else it matches: fencing.ErrStale or ErrSuperseded if a later one has been,
// write's own or ErrOwnerGone if an earlier call with this Stamp could not be ruled
// out. A *fencing.StaleError alone: refused. write's own error, a *WriteError of one
// of its writes, or one matching ErrOwnerGone or ErrTooLarge: nothing was applied, nor will be of
// earlier calls with this Stamp (to be sure of that costs a commit each time), and it
// may try again. Else as package fencing has it for bad input, and ctx's cause if it
// ended before anything was sent: nothing of this call was applied.
func (g *Guard) Do(ctx context.Context, c Command, write func(ctx context.Context, tx *Tx) error) error {
	if err := g.made(); err != nil {
		return err
	}
	if write == nil {
		return errNoWrites
	}
	if err := fencing.ValidateResource(c.Resource); err != nil {
		return err
	}
	if isNil(c.Owner) {
		return fencing.Named(c.Resource, fmt.Errorf("znodefence: command %s: the owner is a nil %T; give the one that was granted, or no Owner", c.Stamp, c.Owner))
	}
	if c.Owner != nil && c.Owner.Token() != c.Stamp.Token {
		return fmt.Errorf("znodefence: resource %q: the stamp %s is not of its owner, whose token is %s", c.Resource, c.Stamp, c.Owner.Token())
	}
	t := &try{g: g, c: c, write: write}
	for n := range maxTries {
		if pause.For(ctx, t.wait(n)) != nil {
			return t.gaveUp(ended(ctx))
		}
		if done, err := t.once(ctx); done {
			return err
		}
	}
	return t.ranOut()
}

// try is one call of Do.
type try struct {
	g     *Guard
	c     Command
	write func(context.Context, *Tx) error
	what  string // is tried, if it is no command

	lost  error // of a multi that may have been applied
	shaky int   // tries in a row that the connection has spoilt
	upset error // what it said
}

func (t *try) wait(n int) time.Duration {
	switch {
	case t.shaky > 0:
		return min(5*time.Millisecond<<min(t.shaky, 8), 500*time.Millisecond)
	case n > 1: // in a crowd
		return rand.N(time.Duration(min(n, 20)) * time.Millisecond)
	}
	return 0
}

// once is done when there is an answer.
func (t *try) once(ctx context.Context) (done bool, err error) {
	s, err := t.g.session(ctx)
	if err != nil {
		return true, t.gaveUp(err)
	}
	m, err := t.g.read(ctx, s, t.c.Resource)
	if err != nil {
		return t.retry(ctx, err)
	}
	if t.lost != nil && m.Last == t.c.Stamp {
		return true, nil
	}
	floor, refusal := fencing.Check(m.Last, t.c.Stamp)
	if floor != m.Last { // on sight, before the command
		if m, _, err = t.g.set(ctx, s, m.with(floor)); err != nil {
			return t.retry(ctx, err)
		}
	}
	if refusal != nil {
		return true, t.settle(fencing.Named(t.c.Resource, refusal))
	}
	tx := &Tx{guard: t.g, session: s}
	if err := t.write(ctx, tx); tx.broken != nil {
		return t.retry(ctx, tx.broken)
	} else if err != nil {
		return t.failed(ctx, s, m, err)
	}
	if tx.wrong != nil {
		return t.failed(ctx, s, m, fencing.Named(t.c.Resource, tx.wrong))
	}
	return t.commit(ctx, s, m, tx)
}

func (t *try) commit(ctx context.Context, s *zkconn.Session, seen memory, tx *Tx) (done bool, err error) {
	m := seen.with(t.c.Stamp)
	var ops []any
	if t.c.Owner != nil {
		ops = append(ops, &zk.CheckVersionRequest{Path: t.c.Owner.Internal().Node, Version: -1})
	}
	ops = append(ops, &zk.SetDataRequest{Path: m.path, Data: m.encode(), Version: m.version})
	own := len(ops)
	for _, w := range tx.writes {
		ops = append(ops, w.op)
	}
	// To a server that is no request at all: it closes the connection without a word,
	// and with it the owner's own, at each try.
	if n := frameSize(ops); n > wire.MaxFrame {
		return t.failed(ctx, s, seen, fencing.Named(t.c.Resource, fmt.Errorf("%w: command %s has %d bytes, limit %d", ErrTooLarge, t.c.Stamp, n, wire.MaxFrame)))
	}
	culprit, lost, err := multi(ctx, s, ops)
	switch {
	case err == nil:
		return true, nil
	case lost:
		t.lost = err
		return t.retry(ctx, err)
	case culprit < 0: // not sent
		return t.retry(ctx, err)
	case culprit >= own:
		return t.failed(ctx, s, seen, fencing.Named(t.c.Resource, &WriteError{Path: tx.writes[culprit-own].path, Err: err}))
	case culprit < own-1 && errors.Is(err, zk.ErrNoNode):
		return t.failed(ctx, s, seen, fencing.Named(t.c.Resource, fmt.Errorf("%w: %s", ErrOwnerGone, t.c.Owner.Internal().Node)))
	case culprit < own-1: // NoAuth: the node may well be there
		return t.failed(ctx, s, seen, fencing.Named(t.c.Resource, fmt.Errorf("znodefence: checking the owner's lock node %s: %w", t.c.Owner.Internal().Node, err)))
	case errors.Is(err, zk.ErrBadVersion), errors.Is(err, zk.ErrNoNode):
		return t.retry(ctx, errMoved)
	}
	return t.retry(ctx, err)
}

// failed is the answer why, of a try that saw the memory m and sent nothing that can
// be applied.
//
// The invariant: "not applied", once said of a Stamp, stays true. A multi of an
// earlier try, or of an earlier call that ended as unknown, may still be under way:
//
//	a retry reads the memory, version n
//	                                     the lost multi lands on n
//	it reads what that wrote, and fails ("paid already"), or finds the lock gone
//
// And it may land after the retry has answered. So the memory is moved as it is from
// n to n+1: either something had moved it, and all is judged anew, or nothing ever
// lands on n.
func (t *try) failed(ctx context.Context, s *zkconn.Session, m memory, why error) (done bool, err error) {
	if _, _, err = t.g.set(ctx, s, m); err == nil {
		return true, why
	}
	if done, err = t.retry(ctx, err); !done {
		return false, nil
	}
	return true, fmt.Errorf("%w: it failed, and whether an earlier try was applied cannot be told (%w): %w", fencing.ErrUnknownOutcome, err, why)
}

// retry is for what the connection has spoilt, and for what others have.
func (t *try) retry(ctx context.Context, err error) (done bool, _ error) {
	switch {
	case errors.Is(err, errMoved):
		t.shaky = 0
		return false, nil
	case ctx.Err() != nil:
		// The connection can break in the same instant; the answer names both.
		var said *endedError
		if !errors.As(err, &said) {
			t.upset = err
		}
		return true, t.gaveUp(ended(ctx))
	case errors.Is(err, zkconn.ErrClosed):
		return true, t.gaveUp(err)
	case session.OutcomeOf(err) == session.OutcomeRefused, errors.Is(err, errForeign):
		return true, t.settle(fencing.Named(t.c.Resource, err)) // NoAuth and its like come again each time
	}
	t.shaky++
	t.upset = err
	return false, nil
}

// ranOut is the answer after maxTries.
func (t *try) ranOut() error {
	if t.shaky == 0 {
		return t.gaveUp(errCrowded)
	}
	return t.gaveUp(fmt.Errorf("the connection broke at each of the last %d tries, as it does when a request is larger than the servers' jute.maxbuffer", t.shaky))
}

// gaveUp is the answer when nothing more is tried.
func (t *try) gaveUp(err error) error {
	if t.upset != nil && !errors.Is(err, t.upset) {
		err = fmt.Errorf("%w (last: %w)", err, t.upset)
	}
	return t.settle(fencing.Named(t.c.Resource, fmt.Errorf("znodefence: %s: %w", t, err)))
}

// String is what is tried. Who raises a floor or resets it has sent no command.
func (t *try) String() string {
	if t.what != "" {
		return t.what
	}
	return "command " + t.c.Stamp.String()
}

// settle is err, and that nobody knows, if a multi was lost.
func (t *try) settle(err error) error {
	if t.lost == nil {
		return err
	}
	return fmt.Errorf("%w: the answer to %s was lost (%w): %w", fencing.ErrUnknownOutcome, t, t.lost, err)
}

// Last returns what is remembered of a resource, as the server that is asked has it;
// the zero Stamp of one that nobody has come to.
func (g *Guard) Last(ctx context.Context, resource string) (fencing.Stamp, error) {
	if err := g.made(); err != nil {
		return fencing.Stamp{}, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return fencing.Stamp{}, err
	}
	s, err := g.session(ctx)
	if err != nil {
		return fencing.Stamp{}, err
	}
	m, err := g.read(ctx, s, resource)
	return m.Last, fencing.Named(resource, err)
}
