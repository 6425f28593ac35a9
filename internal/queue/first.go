package queue

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

// First is who is first in a line, as a read showed it. The zero First: nobody.
type First struct {
	Child string
	Czxid int64
	Data  string // what its node says; "" where it may not be read
}

// First reads who is first in line: one list, and one read if there is anybody.
// It is news, not authority. Errors: ctx's cause, the session's
// *session.LostError, a *ForeignError, or a refusal.
func (l Line) First(ctx context.Context, s *session.Session) (First, error) {
	r := retry{s: s}
	for {
		r.begin()
		var first First
		children, err := s.Children(ctx, l.Dir)
		var child string
		if err == nil {
			child, err = l.earliest(ctx, s, children)
		}
		if err == nil && child != "" {
			var there bool
			first, there, err = l.readFirst(ctx, s, child)
			if err == nil && !there {
				err = errUnseen // it went between the list and the read: look again
			}
		}
		var foreign *ForeignError
		switch {
		case err != nil && ctx.Err() != nil: // whatever ctx's cause looks like
			return First{}, context.Cause(ctx)
		case errors.Is(err, zk.ErrNoNode): // no directory: only the list says so
			return First{}, nil
		case err == nil, errors.As(err, &foreign), session.OutcomeOf(err) == session.OutcomeRefused:
			return first, err
		}
		if err := r.pause(ctx); err != nil {
			return First{}, err
		}
	}
}

func (l Line) readFirst(ctx context.Context, s *session.Session, child string) (first First, there bool, err error) {
	type reply struct {
		Entry
		there bool
	}
	a, err := session.Call(ctx, s, func(c *zk.Conn) (reply, error) {
		e, there, err := l.read(c, child)
		return reply{e, there}, err
	})
	if err != nil || !a.there {
		return First{}, false, err
	}
	return First{Child: child, Czxid: a.Stat.Czxid, Data: string(a.Data)}, true, nil
}

// earliest picks who is first among children; "" if no contender is among them.
func (l Line) earliest(ctx context.Context, s *session.Session, children []string) (string, error) {
	names := make(map[string]Name, len(children))
	contenders := make([]Name, 0, len(children))
	for _, child := range children {
		switch n := Parse(child); n.Kind {
		case Foreign:
			return "", &ForeignError{Child: child}
		case Contender:
			contenders = append(contenders, n)
			names[child] = n
		}
	}
	before := func(a, b Name) bool { return a.Seq < b.Seq }
	if !sequenced(contenders) {
		children := make([]string, len(contenders))
		for i, n := range contenders {
			children[i] = n.Child
		}
		ages, err := stats(ctx, s, l, children)
		if err != nil {
			return "", err
		}
		contenders = contenders[:0]
		czxid := make(map[string]int64, len(ages))
		for child, st := range ages {
			contenders = append(contenders, names[child])
			czxid[child] = st.Czxid
		}
		before = func(a, b Name) bool { return earlier(a, b, czxid) }
	}
	var first Name
	for i, n := range contenders {
		if i == 0 || before(n, first) {
			first = n
		}
	}
	return first.Child, nil
}
