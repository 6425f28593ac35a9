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
	c := history.Command{Call: history.Call(call), Value: value}
	if c.Call != history.Read {
		if w.hold == nil {
			return history.Answer{}, errNoHold
		}
		c.Stamp = fencing.Stamp{Token: w.hold.Token()}
		if c.Call == history.Write {
			c.Stamp = w.hold.Next()
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	w.op++
	w.tell(history.Event{Kind: history.Sent, Op: w.op, Command: c})
	a, err := w.store.Do(ctx, c)
	if err == nil {
		w.tell(history.Event{Kind: history.Answered, Op: w.op, Answer: a})
	}
	return a, err
}
