//go:build linux

package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// obey carries out what in orders, one after the other but for those that others
// do not wait for, until it ends. A Halt overtakes the rest.
func (w *worker) obey(ctx context.Context, in io.Reader) error {
	orders := make(chan Order)
	read := make(chan error, 1)
	go func() {
		defer close(orders)
		for lines := bufio.NewScanner(in); ; {
			if !lines.Scan() {
				read <- lines.Err()
				return
			}
			var o Order
			if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
				read <- err
				return
			}
			if o.Halt {
				w.stop()
				continue
			}
			orders <- o
		}
	}()
	var flights sync.WaitGroup
	for o := range orders {
		if flight := w.takeOff(ctx, o); flight != nil {
			flights.Go(func() { w.done(flight()) })
			continue
		}
		w.done(w.do(ctx, o))
	}
	w.stop()
	flights.Wait()
	return <-read
}

func (w *worker) stop() {
	w.halt.Store(true)
	if w.leader != nil {
		w.leader.stop(errHalted)
	}
}

func (w *worker) do(ctx context.Context, o Order) Done {
	d := Done{Order: o.ID}
	var err error
	switch o.Do {
	case Lock:
		err = w.lock(ctx)
	case Unlock:
		err = w.unlock(ctx)
	case Raise, Read, Write:
		d.Answer, err = w.command(ctx, o.Do, o.Value)
	case Wall:
		d.Wall = time.Now()
	case Cycle:
		d.Cycles, err = w.cycle(ctx)
	case Crowd, Tire:
		err = w.gather(ctx, o.Value, o.Do == Tire)
	case Disperse:
		err = w.disperse()
	case Weigh:
		d.Weight, err = weigh()
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	if err != nil {
		d.Err = err.Error()
	}
	return d
}
