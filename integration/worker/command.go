//go:build linux

package worker

import (
	"context"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
)

const askTimeout = 30 * time.Second

// desk is where one sender's commands to one resource leave. It counts them.
type desk struct {
	*teller
	resource string // its URL
	store    *resource.Client
	op       uint64
}

func newDesk(t *teller, url string) *desk {
	return &desk{teller: t, resource: url, store: resource.NewClient(url)}
}

func (d *desk) next() uint64 {
	d.op++
	return d.op
}

// send may be called by several goroutines, each with an op of its own. After an
// error it is unknown what became of the command.
func (d *desk) send(ctx context.Context, op uint64, c history.Command) (history.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	d.tell(history.Event{Kind: history.Sent, Resource: d.resource, Op: op, Command: c})
	a, err := d.store.Do(ctx, c)
	if err == nil {
		d.tell(history.Event{Kind: history.Answered, Resource: d.resource, Op: op, Answer: a})
	}
	return a, err
}

// stamped is a Hold, or a Term.
type stamped interface {
	Token() fencing.Token
	Next() fencing.Stamp
}

// with returns the command, with a stamp of its sender's where it needs one.
func with(by stamped, call, value string) history.Command {
	c := history.Command{Call: history.Call(call), Value: value}
	switch c.Call {
	case history.Raise:
		c.Stamp = fencing.Stamp{Token: by.Token()}
	case history.Write:
		c.Stamp = by.Next()
	}
	return c
}

// command sends one to the lock's resource.
func (w *worker) command(ctx context.Context, call, value string) (history.Answer, error) {
	c, err := w.compose(call, value)
	if err != nil {
		return history.Answer{}, err
	}
	return w.desk.send(ctx, w.desk.next(), c)
}

func (w *worker) compose(call, value string) (history.Command, error) {
	if call != Read && w.hold == nil {
		return history.Command{}, errNoHold
	}
	return with(w.hold, call, value), nil
}
