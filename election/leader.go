package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/internal/queue"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zklock"
)

// Leader is who leads, as a read showed it: news, not authority. The zero Leader
// is nobody.
type Leader struct {
	Info string // what it says about itself; "" where it may not be read
	// Epoch is the number of its term's Token; 0 is nobody's. It is no Token: to
	// have read who leads is not to lead.
	//
	// Of two answers about one path the one with the larger Epoch is newer, whoever
	// read them. Two with one Epoch are of one term, and differ if it has called
	// SetInfo; which of them is newer they do not say. Nor can nobody be ranked: before
	// a term and after it look the same.
	Epoch uint64
}

// String is for logs: the info, quoted, and the Epoch as a Token is written, such
// as "10.0.0.5:8080" at 0x200000007; nobody for the zero Leader.
func (l Leader) String() string {
	if l == (Leader{}) {
		return "nobody"
	}
	return fmt.Sprintf("%q at 0x%x", l.Info, l.Epoch)
}

func leaderFrom(f queue.First) Leader { return Leader{Info: f.Data, Epoch: uint64(f.Czxid)} }

// Leader reads who is first in line, which is news before it leads and after it
// has lost. It costs one list and one read, and waits for a session and the round
// trips until ctx ends. Errors: ErrNoLeader, zklock.ErrForeignRecipe, ctx's cause,
// zkconn.ErrClosed, or a server's refusal, wrapped with the path.
func (e *Election) Leader(ctx context.Context) (Leader, error) {
	l, err := e.leader(ctx)
	if err != nil {
		return Leader{}, fmt.Errorf("election: leader %s: %w", e.line.Dir, err)
	}
	return l, nil
}

func (e *Election) leader(ctx context.Context) (Leader, error) {
	for {
		s, err := e.client.Session(ctx)
		if err != nil {
			return Leader{}, err
		}
		first, err := e.line.First(ctx, s)
		switch {
		case err == nil && first.Child == "":
			return Leader{}, ErrNoLeader
		case err == nil:
			return leaderFrom(first), nil
		case ctx.Err() != nil, !errors.Is(err, session.ErrLost):
			return Leader{}, foreign(err)
		case errors.Is(err, session.ErrClosed):
			return Leader{}, session.ErrClosed
		}
		// The next session reads as well as this one did.
	}
}

func foreign(err error) error {
	var f *queue.ForeignError
	if errors.As(err, &f) {
		return fmt.Errorf("%w: child %q", zklock.ErrForeignRecipe, f.Child)
	}
	return err
}

// Candidate is one place in the line, as a read showed it.
type Candidate struct {
	Node     string    // name of its znode, without the path
	Session  int64     // id of the session that owns the znode; 0 if none does, and then nothing but a delete removes it
	Info     string    // "" where it may not be read
	Epoch    uint64    // the number its Token has, or would have, once it leads
	Created  time.Time // when it came, by the server's clock
	Position int       // 0 leads, or is about to
}

// Queue returns who leads and who waits, the leader first; nobody is no error. It
// is news, not of one moment, and costs one list and one read per candidate.
// Errors: ctx's cause, zkconn.ErrClosed, or a refusal, wrapped with the path.
func (e *Election) Queue(ctx context.Context) ([]Candidate, error) {
	contenders, err := e.mutex.Queue(ctx)
	if err != nil {
		return nil, fmt.Errorf("election: %w", err)
	}
	candidates := make([]Candidate, len(contenders))
	for i, c := range contenders {
		candidates[i] = Candidate{Node: c.Node, Session: c.Session, Info: c.Identity, Epoch: c.Epoch, Created: c.Created, Position: c.Position}
	}
	return candidates, nil
}
