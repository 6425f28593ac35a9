//go:build linux

package worker

import (
	"context"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
)

const askTimeout = 30 * time.Second

// command sends one to the resource, with the next stamp where it needs one.
func (w *worker) command(ctx context.Context, call, value string) (history.Answer, error) {
	c, err := w.compose(call, value)
	if err != nil {
		return history.Answer{}, err
	}
	w.op++
	return w.send(ctx, w.op, c)
}

func (w *worker) compose(call, value string) (history.Command, error) {
	c := history.Command{Call: history.Call(call), Value: value}
	if c.Call != history.Read {
		if w.hold == nil {
			return c, errNoHold
		}
		c.Stamp = fencing.Stamp{Token: w.hold.Token()}
		if c.Call == history.Write {
			c.Stamp = w.hold.Next()
		}
	}
	return c, nil
}

// send may be called by several goroutines, each with an op of its own.
func (w *worker) send(ctx context.Context, op uint64, c history.Command) (history.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	w.tell(history.Event{Kind: history.Sent, Op: op, Command: c})
	a, err := w.store.Do(ctx, c)
	if err == nil {
		w.tell(history.Event{Kind: history.Answered, Op: op, Answer: a})
	}
	return a, err
}
