package election

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// MaxInfo is how many bytes an info may have.
const MaxInfo = 256

// Election is one candidate for the leadership that a path stands for. It owns
// nothing while it neither campaigns nor leads, need not be closed, and is safe
// for concurrent use; it campaigns or leads once at a time. A process that is to
// stand twice makes two. New makes one; the zero Election is of no use.
type Election struct {
	client *session.Client
	mutex  *zklock.Mutex
	line   queue.Line
	info   string
	log    *zap.Logger

	mu   sync.Mutex // never held across a wait or users' code
	busy bool       // in Run, or in Campaign before it has returned
	term *Term      // the newest
}

// New returns a candidate for the election at path, which is absolute and below
// the Client's root. Candidates are children of that znode, which is made when it
// is first needed; it is a lock's directory, and whoever locks path with zklock
// takes part in the election.
//
// info is what observers are shown while this candidate leads, an address most of
// the time: UTF-8 of at most MaxInfo bytes without control characters, in the
// candidate's node in place of the client's identity. opts are those of
// zklock.New; a WithMaxHold bounds each term. The error names what is wrong with which argument; no request is sent.
func New(c *zkconn.Client, path, info string, opts ...zklock.Option) (*Election, error) {
	if err := checkInfo(info); err != nil {
		return nil, fmt.Errorf("election: new: %w", err)
	}
	m, err := zklock.New(c, path, append(slices.Clone(opts), zklock.WithNodeData(queue.Data{Bytes: []byte(info)}))...)
	if err != nil {
		return nil, fmt.Errorf("election: new: %w", err)
	}
	in := c.Internal()
	dir := in.Root() + path
	log := in.Logger().Named("election").With(zap.String("path", dir))
	return &Election{client: in, mutex: m, line: queue.Line{Dir: dir, Log: log}, info: info, log: log}, nil
}

func checkInfo(info string) error {
	switch {
	case len(info) > MaxInfo:
		return fmt.Errorf("info = %.40q… (%d bytes): must be at most %d bytes", info, len(info), MaxInfo)
	case !utf8.ValidString(info):
		return fmt.Errorf("info = %q: must be UTF-8", info)
	case strings.ContainsFunc(info, unicode.IsControl):
		// Observers write it into logs and on terminals.
		return fmt.Errorf("info = %q: must be without control characters", info)
	}
	return nil
}

// enter claims the Election for op.
func (e *Election) enter(op string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.busy || e.term != nil && e.term.stands() {
		return fmt.Errorf("election: %s %s: %w", op, e.line.Dir, ErrBusy)
	}
	if e.term != nil {
		e.term.left.Store(true)
	}
	e.busy = true
	return nil
}

func (e *Election) exit() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.busy = false
}

// begin makes a term of a hold, for Run or for Campaign.
func (e *Election) begin(h *zklock.Hold, run bool) *Term {
	t := newTerm(e, h, run)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.term = t
	return t
}

// Campaign waits until this candidate leads, first come, first served, and
// returns the term: for programs that keep one beyond a function; others use Run.
//
// ctx bounds the wait alone, never the Term, which the caller must Resign; one
// that is lost leaves nothing to resign, and a new Campaign may begin. If ctx ends
// first the error wraps its cause and no node stays behind. Other errors:
// ErrBusy, and those of zklock.Mutex's Lock.
func (e *Election) Campaign(ctx context.Context) (*Term, error) {
	if err := e.enter("campaign"); err != nil {
		return nil, err
	}
	defer e.exit()
	h, err := e.mutex.Lock(ctx)
	if err != nil {
		return nil, fmt.Errorf("election: campaign: %w", err)
	}
	return e.begin(h, false), nil // before busy is given back: nobody finds neither
}

// lostBy returns why a term ended if nobody resigned it.
func lostBy(h *zklock.Hold) *zklock.LostError {
	var lost *zklock.LostError
	if h.Context().Err() == nil || !errors.As(context.Cause(h.Context()), &lost) {
		return nil
	}
	return lost
}
