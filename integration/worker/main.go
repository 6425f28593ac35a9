//go:build linux

package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// Main is what TestMain calls first. Where this process is to be a worker, it is
// one, and does not return.
func Main() {
	config := os.Getenv(env)
	if config == "" {
		return
	}
	var c Config
	err := json.Unmarshal([]byte(config), &c)
	if err == nil {
		err = run(c, os.Stdin, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "worker %s: %v\n", c.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

const (
	dialTimeout = 30 * time.Second
	lockTimeout = time.Minute
	askTimeout  = 30 * time.Second // a command to the resource
	endTimeout  = 10 * time.Second
	beliefEvery = 25 * time.Millisecond
)

// worker is the process's state; all but what has its own guard belongs to the
// goroutine that carries out orders.
type worker struct {
	Config
	mutex *zklock.Mutex
	store *resource.Client
	halt  atomic.Bool

	attempt uint64
	op      uint64
	hold    *zklock.Hold
	belief  func() // ends the telling of beliefs, and waits for it

	out sync.Mutex // over writing whole lines
	enc *json.Encoder
}

// run carries out orders until in ends, gives back what it holds, and closes its
// session.
func run(c Config, in io.Reader, out io.Writer) (err error) {
	ctx := context.Background() // this process's; the parent ends it by closing in, or by a kill
	w := &worker{Config: c, store: resource.NewClient(c.Store), enc: json.NewEncoder(out)}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	client, err := zkconn.Dial(dialing, c.Servers, zkconn.WithSessionTimeout(c.Timeout), zkconn.WithServerTick(c.Tick), zkconn.WithIdentity(c.Name))
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(ctx, endTimeout)
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	if w.mutex, err = zklock.New(client, c.Path, zklock.WithTrace(w.trace())); err != nil {
		return err
	}
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
				w.halt.Store(true)
				continue
			}
			orders <- o
		}
	}()
	for o := range orders {
		d := w.do(ctx, o)
		d.Order = o.ID
		w.print(line{Done: &d})
	}
	if w.hold != nil {
		if err = w.unlock(ctx); errors.Is(err, zklock.ErrLost) {
			err = nil // the trace has told
		}
	}
	return errors.Join(err, <-read)
}

func (w *worker) print(l line) {
	w.out.Lock()
	defer w.out.Unlock()
	if err := w.enc.Encode(l); err != nil {
		os.Exit(1) // nobody listens any more
	}
}

func (w *worker) tell(e history.Event) {
	e.Worker = w.Name
	w.print(line{Event: &e})
}

// ofAttempt tells what was learned of an attempt just now.
func (w *worker) ofAttempt(id uint64, e history.Event) {
	e.Path, e.Attempt = w.Path, id
	if e.At == 0 {
		e.At = Now()
	}
	w.tell(e)
}

func (w *worker) trace() *zklock.Trace {
	return &zklock.Trace{
		Enrolled: func(a zklock.Attempt, node string) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Enrolled, Node: node})
		},
		Lost: func(a zklock.Attempt, err *zklock.LostError) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Lost, Reason: err.Error()})
		},
		Released: func(a zklock.Attempt, _ bool) {
			w.ofAttempt(a.ID, history.Event{Kind: history.Released})
		},
	}
}

var errNoHold = errors.New("holds nothing")

func (w *worker) do(ctx context.Context, o Order) (d Done) {
	var err error
	switch o.Do {
	case Lock:
		err = w.lock(ctx)
	case Unlock:
		err = w.unlock(ctx)
	case Raise, Read, Write:
		d.Answer, err = w.command(ctx, o.Do, o.Value)
	case Cycle:
		d.Cycles, err = w.cycle(ctx)
	default:
		err = fmt.Errorf("unknown order %q", o.Do)
	}
	if err != nil {
		d.Err = err.Error()
	}
	return d
}

func (w *worker) lock(ctx context.Context) error {
	if w.hold != nil {
		return errors.New("holds already")
	}
	w.attempt++
	w.ofAttempt(w.attempt, history.Event{Kind: history.Began})
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	hold, err := w.mutex.Lock(ctx)
	if err != nil {
		w.ofAttempt(w.attempt, history.Event{Kind: history.Failed, Reason: err.Error()})
		return err
	}
	w.ofAttempt(w.attempt, history.Event{Kind: history.Granted, Token: hold.Token()})
	w.hold, w.belief = hold, w.believe(w.attempt, hold)
	return nil
}

// believe tells every now and then how long the hold is trusted from then on, and
// returns what ends that.
func (w *worker) believe(attempt uint64, hold *zklock.Hold) (end func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(beliefEvery)
		defer ticker.Stop()
		for {
			// The clock first: a promise then seems to end early, never late.
			at := Now()
			if left := hold.Remaining(); left > 0 {
				w.ofAttempt(attempt, history.Event{At: at, Kind: history.Belief, Remaining: left})
			}
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	}()
	return func() { close(done); <-ended }
}

func (w *worker) unlock(ctx context.Context) error {
	if w.hold == nil {
		return errNoHold
	}
	hold := w.hold
	w.belief()
	w.hold = nil
	w.ofAttempt(w.attempt, history.Event{Kind: history.Unlocking})
	ctx, cancel := context.WithTimeout(ctx, endTimeout)
	defer cancel()
	return hold.Unlock(ctx)
}

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
	w.tell(history.Event{At: Now(), Kind: history.Sent, Op: w.op, Command: c})
	a, err := w.store.Do(ctx, c)
	if err == nil {
		w.tell(history.Event{At: Now(), Kind: history.Answered, Op: w.op, Answer: a})
	}
	return a, err
}

// cycle holds again and again. A loss, a refusal and a lock that was not granted
// are part of the story, and the history's to judge.
func (w *worker) cycle(ctx context.Context) (n int, err error) {
	for !w.halt.Load() {
		if w.lock(ctx) != nil {
			continue
		}
		for i, call := range []string{Raise, Read, Write, Write} {
			a, err := w.command(ctx, call, fmt.Sprintf("%s %d.%d", w.Name, w.attempt, i))
			if err != nil {
				return n, err
			}
			if !a.OK {
				break
			}
			w.dwell(ctx)
		}
		// What this returns after a loss is that loss, which the trace tells.
		_ = w.unlock(ctx)
		n++
	}
	return n, nil
}

func (w *worker) dwell(ctx context.Context) {
	if w.Dwell <= 0 {
		return
	}
	timer := time.NewTimer(w.Dwell)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
