package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/internal/session"
)

// Contender is one place in the line, as a read showed it.
type Contender struct {
	Node     string    // name of its znode, without the path
	Session  int64     // id of the session that owns the znode; 0 if none does, and then nothing but a delete removes it
	Identity string    // what the znode says about its owner; "" where it may not be read
	Epoch    uint64    // the number its Token has, or would have, once it holds
	Created  time.Time // when it came, by the server's clock
	Position int       // 0 is first in line
}

// Queue returns who holds and waits, the holder first. It is news, not
// authority: the first in line may not know yet that it is, or may have lost the
// lock already, and the reads are of different moments. It costs one list and
// one read per contender. Contenders of other clients that read the same names
// (Curator, go-zookeeper, kazoo) are included; nobody is not an error. Errors:
// ctx's cause, zkconn.ErrClosed, or a refusal, wrapped with the path.
func (m *Mutex) Queue(ctx context.Context) ([]Contender, error) {
	for {
		contenders, err := m.list(ctx)
		switch {
		case err == nil:
			return contenders, nil
		case errors.Is(err, session.ErrClosed):
			err = session.ErrClosed
		case ctx.Err() == nil && errors.Is(err, session.ErrLost):
			continue // the next session reads as well as this one did
		}
		return nil, fmt.Errorf("zklock: queue %s: %w", m.line.Dir, err)
	}
}

func (m *Mutex) list(ctx context.Context) ([]Contender, error) {
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := m.line.List(ctx, s)
	if err != nil {
		return nil, err
	}
	contenders := make([]Contender, len(entries))
	for i, e := range entries {
		contenders[i] = Contender{
			Node: e.Child, Session: e.Stat.EphemeralOwner, Identity: string(e.Data),
			Epoch: uint64(e.Stat.Czxid), Created: time.UnixMilli(e.Stat.Ctime), Position: i,
		}
	}
	return contenders, nil
}
