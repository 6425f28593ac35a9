package queue

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// Entry is one contender as a read showed it.
type Entry struct {
	Name
	Stat zk.Stat
	Data []byte // nil where it may not be read
}

// List reads the contenders, first in line first: one list, and one read each.
// Nobody when there is no directory. It is news, and not of one moment: the
// reads come after the list. Errors: ctx's cause, the session's
// *session.LostError, or a refusal.
func (l Line) List(ctx context.Context, s *session.Session) ([]Entry, error) {
	var entries []Entry
	err := again(ctx, s, func() (err error) {
		entries, err = l.list(ctx, s)
		return err
	})
	return entries, err
}

func (l Line) list(ctx context.Context, s *session.Session) ([]Entry, error) {
	children, err := s.Children(ctx, l.Dir)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	names := make(map[string]Name, len(children))
	contenders := make([]string, 0, len(children))
	for _, child := range children {
		if n := Parse(child); n.Kind == Contender {
			names[child] = n
			contenders = append(contenders, child)
		}
	}
	read, err := ask(ctx, s, contenders, func(c *zk.Conn, child string) (e Entry, there bool, err error) {
		return l.read(c, child)
	})
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, 0, len(read))
	order := make([]Name, 0, len(read))
	czxid := make(map[string]int64, len(read))
	for child, e := range read {
		e.Name = names[child]
		entries = append(entries, e)
		order = append(order, e.Name)
		czxid[child] = e.Stat.Czxid
	}
	before := func(a, b Entry) bool { return a.Seq < b.Seq }
	if !sequenced(order) {
		before = func(a, b Entry) bool { return earlier(a.Name, b.Name, czxid) }
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
	return entries, nil
}

func (l Line) read(c *zk.Conn, child string) (e Entry, there bool, err error) {
	data, st, err := c.Get(l.pathOf(child))
	switch {
	case err == nil:
		return Entry{Stat: *st, Data: data}, true, nil
	case errors.Is(err, zk.ErrNoNode):
		return Entry{}, false, nil
	case errors.Is(err, zk.ErrNoAuth): // its place is no secret
		there, st, err := c.Exists(l.pathOf(child))
		if err != nil {
			return Entry{}, false, err
		}
		return Entry{Stat: *st}, there, nil
	}
	return Entry{}, false, err
}
