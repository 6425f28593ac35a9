package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// worker is one of the two processes that want to write the report. Both run the
// same code; which of them is paused, and when, is the parent's doing.
type worker struct {
	name   string
	job    assignment
	orders <-chan string
	out    *cast.Lines
	store  reports
	// The session's timeout as granted. The one asked for says nothing about how
	// long a pause is survived.
	granted time.Duration
	token   atomic.Pointer[fencing.Token] // once granted
	lost    bool                          // the hold ended by itself
}

// patience is how long a worker looks for ZooKeeper.
const patience = 10 * time.Second

// runWorker is a worker process's main.
func runWorker(name string, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	w := &worker{name: name, out: cast.NewLines(out)}
	input := json.NewDecoder(in)
	if err := input.Decode(&w.job); err != nil {
		return fmt.Errorf("reading the assignment: %w", err)
	}
	orders := make(chan string)
	w.orders = orders
	go func() { // ends with the input, or with the process
		defer cancel()
		defer close(orders)
		for {
			var order string
			if err := input.Decode(&order); err != nil {
				return
			}
			select {
			case orders <- order:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := w.run(ctx); err != nil {
		w.say(says{What: saysFailed, Text: err.Error()})
		return err
	}
	end := "lock given back"
	if w.lost {
		end = "nothing left to give back"
	}
	w.say(says{What: saysDone, Text: "done: " + end + ", session closed"})
	return nil
}

func (w *worker) run(ctx context.Context) (err error) {
	kind, err := findStore(w.job.Report.Store)
	if err != nil {
		return err
	}
	if w.store, err = kind.open(w.job.Report); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	w.say(says{What: saysConnecting, Text: fmt.Sprintf("connecting to %s", strings.Join(w.job.Servers, ", "))})
	dialing, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %v; is ZooKeeper running there, and -zk right?", patience))
	defer cancel()
	client, err := zkconn.Dial(dialing, w.job.Servers,
		zkconn.WithSessionTimeout(w.job.Timeout), zkconn.WithIdentity(w.name))
	if err != nil {
		return err
	}
	defer func() {
		// Not ctx: it ends with the parent, and the session should end all the same.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(w.granted, w.job.Timeout))
		defer cancel()
		err = errors.Join(err, client.Close(closing))
	}()
	session, err := client.Session(ctx)
	if err != nil {
		return err
	}
	w.granted = session.Timeout()
	w.say(says{What: saysConnected, Timeout: w.granted, Text: fmt.Sprintf("session %#x, timeout %v granted", session.ID(), w.granted)})

	mutex, err := zklock.New(client, w.job.Lock, zklock.WithTrace(w.trace()))
	if err != nil {
		return err
	}
	err = mutex.Do(ctx, w.publish)
	w.lost = errors.Is(err, zklock.ErrLost)
	// Both are a part of the story, and publish has told it.
	if errors.Is(err, fencing.ErrStale) || errors.Is(err, zklock.ErrLost) {
		return nil
	}
	return err
}

// trace reports what the lock goes through, so that the timeline shows a loss at
// the moment at which this process knows of it.
func (w *worker) trace() *zklock.Trace {
	return &zklock.Trace{
		State: func(_ zklock.Attempt, t zklock.Transition) {
			if t.From == zklock.Acquiring && t.To == zklock.Held {
				return // publish says it, with the token
			}
			report := says{What: saysState, State: t.To.String(), Text: fmt.Sprintf("%v → %v", t.From, t.To)}
			if token := w.token.Load(); token != nil {
				report.Token = *token
			}
			w.say(report)
		},
		Waiting: func(_ zklock.Attempt, _ string, ahead int) {
			w.say(says{What: saysWaiting, State: zklock.Acquiring.String(), Text: fmt.Sprintf("waits, %d ahead", ahead)})
		},
	}
}

// publish is the work under the lock.
func (w *worker) publish(ctx context.Context, h *zklock.Hold) error {
	token := h.Token()
	w.token.Store(&token)
	w.sayHeld(h, saysGranted, "granted: this token is larger than any before")

	// First the floor, then the read: what an older owner still has under way is
	// now either in what we read, or refused.
	if err := w.store.Raise(ctx, token); err != nil {
		return fmt.Errorf("raising the floor: %w", err)
	}
	w.sayHeld(h, saysRaised, "raised the floor at the store")
	old, last, err := w.store.Get(ctx)
	if err != nil {
		return fmt.Errorf("reading the report: %w", err)
	}
	w.sayHeld(h, saysRead, fmt.Sprintf("read the report as of %v, %d bytes", last, len(old)))
	report, err := compute(old, w.name, token)
	if err != nil {
		return err
	}

	// The best check that there is, and it is no protection: whatever happens from
	// here to the write, this process will not look again.
	if err := h.Ready(ctx, w.granted/8); err != nil {
		return fmt.Errorf("before the write: %w", err)
	}
	stamp := h.Next()
	w.sayHeld(h, saysReady, fmt.Sprintf("report computed, hold checked (%v trusted), about to write with %v", h.Remaining().Round(time.Millisecond), stamp))
	if err := w.await(orderWrite); err != nil {
		return err
	}

	// Not ctx: a request on a context that has ended is never sent, and this is
	// about the one that was on its way already.
	writing, cancel := context.WithTimeout(context.WithoutCancel(ctx), w.granted)
	defer cancel()
	err = w.store.Put(writing, stamp, report)
	var stale *fencing.StaleError
	switch {
	case err == nil:
		w.sayHeld(h, saysPublished, fmt.Sprintf("published with %v", stamp))
	case errors.As(err, &stale):
		w.say(says{What: saysRefused, Token: token, State: h.State().String(), Text: "write refused: " + err.Error(), Presented: stale.Presented, Highest: stale.Highest})
		w.sayLoss(ctx, h)
	}
	return err
}

// sayLoss reports what the hold itself has to say after a refusal. Its context may
// lag behind the clock by scheduling, so it gets a moment.
func (w *worker) sayLoss(ctx context.Context, h *zklock.Hold) {
	select {
	case <-h.Context().Done():
	case <-time.After(w.granted):
	}
	if cause := context.Cause(h.Context()); errors.Is(cause, zklock.ErrLost) {
		w.sayHeld(h, saysLost, "own context: "+cause.Error())
	} else {
		w.sayHeld(h, saysFailed, fmt.Sprintf("refused, and yet the hold's context says: %v (the callback's: %v)", cause, context.Cause(ctx)))
	}
}

// await waits for an order. It heeds no context: it stands for a process that
// does not run, which heeds none either. The parent's end ends it.
func (w *worker) await(want string) error {
	for order := range w.orders {
		if order == want {
			return nil
		}
	}
	return errors.New("the parent is gone")
}

func (w *worker) sayHeld(h *zklock.Hold, what, text string) {
	w.say(says{What: what, Token: h.Token(), State: h.State().String(), Text: text})
}

func (w *worker) say(s says) {
	if err := w.out.Send(s); err != nil {
		// Nobody reads: without the parent there is nothing left to do here.
		os.Exit(1)
	}
}

// compute adds the sum of the second column, and who has computed it.
func compute(report []byte, who string, token fencing.Token) ([]byte, error) {
	rows, err := csv.NewReader(bytes.NewReader(report)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	var sum int
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	for i, row := range rows {
		if row[0] == "total" {
			continue // somebody was here before
		}
		if i > 0 {
			n, err := strconv.Atoi(row[1])
			if err != nil {
				return nil, fmt.Errorf("report, row %d: %w", i+1, err)
			}
			sum += n
		}
		if err := w.Write(row); err != nil {
			return nil, err
		}
	}
	if err := w.Write([]string{"total", strconv.Itoa(sum), "by " + who + " with " + token.String()}); err != nil {
		return nil, err
	}
	w.Flush()
	return out.Bytes(), w.Error()
}
