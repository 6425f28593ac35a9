//go:build linux

package worker

import (
	"context"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
)

// takeOff begins an order that others do not wait for, in its place among them,
// and returns the rest of it; nil if the order is none of that kind.
func (w *worker) takeOff(ctx context.Context, o Order) func() Done {
	done := func(a history.Answer, err error) Done {
		d := Done{Order: o.ID, Answer: a}
		if err != nil {
			d.Err = err.Error()
		}
		return d
	}
	switch o.Do {
	case Lead:
		return func() Done { return w.lead(o) }
	case LetGo:
		unlock, err := w.letGo()
		return func() Done {
			if err == nil {
				err = unlock(ctx)
			}
			return done(history.Answer{}, err)
		}
	case Send:
		c, err := w.compose(Write, o.Value)
		if err != nil {
			return func() Done { return done(history.Answer{}, err) }
		}
		if w.sent == nil {
			w.sent = map[string]fencing.Stamp{}
		}
		w.sent[o.Value] = c.Stamp
		return w.flight(ctx, c, done)
	case Again:
		stamp, known := w.sent[o.Value]
		if !known {
			return func() Done { return done(history.Answer{}, fmt.Errorf("has not sent %q", o.Value)) }
		}
		return w.flight(ctx, history.Command{Call: history.Write, Stamp: stamp, Value: o.Value}, done)
	}
	return nil
}

// flight sends the command later, as the next of the worker's.
func (w *worker) flight(ctx context.Context, c history.Command, done func(history.Answer, error) Done) func() Done {
	op := w.desk.next()
	return func() Done { return done(w.desk.send(ctx, op, c)) }
}
