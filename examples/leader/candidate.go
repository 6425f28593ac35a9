package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/examples/internal/cast"
	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

const (
	patience  = 10 * time.Second       // for how long anybody looks for ZooKeeper
	commands  = 100 * time.Millisecond // between two of a leader's commands
	reporting = 100 * time.Millisecond // between two of a candidate's reports
)

// candidate is one process that wants to lead. All run the same code; which of
// them is paused or killed, and when, is the parent's doing.
type candidate struct {
	name    string
	job     assignment
	out     *cast.Lines
	ledger  *fenced.Client
	hold    turnstile
	granted time.Duration // the session's timeout

	mu    sync.Mutex
	state zklock.State
	ahead int
	term  *election.Term // while it leads
}

// runCandidate is a candidate process's main.
func runCandidate(name string, in io.Reader, out io.Writer) error {
	c := &candidate{name: name, out: cast.NewLines(out)}
	input := json.NewDecoder(in)
	if err := input.Decode(&c.job); err != nil {
		return fmt.Errorf("reading the assignment: %w", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() { // ends with the input, or with the process
		// To resign takes as long as a session if nobody answers, and no one is
		// there to wait for it.
		defer time.AfterFunc(goodbye, func() { os.Exit(1) })
		defer cancel(errParentGone)
		defer c.hold.open()
		for {
			var order string
			if input.Decode(&order) != nil {
				return
			}
			switch order {
			case orderHold:
				c.hold.shut()
			case orderGo:
				c.hold.open()
			}
		}
	}()
	c.ledger = fenced.NewClient(c.job.Ledger, c.job.Secret)
	if err := c.run(ctx); err != nil {
		c.say(report{What: saysFailed, Text: err.Error()})
		return err
	}
	c.say(report{What: saysDone, State: zklock.Idle.String(), Text: "resigned, session closed"})
	return nil
}

var errParentGone = errors.New("the parent has closed our input")

func (c *candidate) run(ctx context.Context) (err error) {
	client, err := dial(ctx, c.job.Servers, c.job.Timeout, c.name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangUp(ctx, client, c.job.Timeout)) }()
	session, err := client.Session(ctx)
	if err != nil {
		return err
	}
	c.granted = session.Timeout()
	c.say(report{What: saysConnected, Timeout: c.granted, Text: fmt.Sprintf("session %#x, timeout %v granted", session.ID(), c.granted)})

	// An address most of the time: whoever observes the election learns where to go.
	e, err := election.New(client, c.job.Path, c.name, zklock.WithTrace(c.trace()))
	if err != nil {
		return err
	}
	reporting, stop := context.WithCancel(ctx)
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		c.report(reporting)
	}()
	defer func() { stop(); <-reported }()
	for {
		err := e.Run(ctx, c.lead)
		switch {
		case ctx.Err() != nil:
			return nil // and Run has resigned
		case errors.Is(err, fencing.ErrStale):
			// The ledger has known of our end before we did. There are other terms.
		default:
			return err
		}
	}
}

// lead is what a leader does, until its term is over.
func (c *candidate) lead(ctx context.Context, t *election.Term) error {
	c.leads(t)
	defer c.leads(nil)
	// The floor first: from here on the ledger refuses whatever an older leader
	// still has under way, also if our own first command should fail.
	if err := c.ledger.Raise(ctx, t.Token()); err != nil {
		return c.refused(t, "the floor", err)
	}
	c.about(t, saysEvent, "leads: this token is larger than any before")
	every := time.NewTicker(commands)
	defer every.Stop()
	for n := 1; ; n++ {
		// The best check that there is, and it is no protection: whatever happens
		// from here to the command, this process will not look again.
		if err := t.Ready(ctx, c.granted/8); err != nil {
			c.about(t, saysEvent, "stops: "+err.Error())
			return err
		}
		stamp := t.Next()
		if wait := c.hold.wait(); wait != nil {
			c.about(t, saysHolding, fmt.Sprintf("term checked (%v trusted), about to send %v", t.Remaining().Round(time.Millisecond), stamp))
			<-wait
		}
		if err := c.send(ctx, stamp, fmt.Sprintf("entry %d", n)); err != nil {
			return c.refused(t, "command "+stamp.String(), err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			c.about(t, saysEvent, "stops: "+context.Cause(ctx).Error())
			return context.Cause(ctx)
		}
	}
}

// send is on a context of its own: a request on one that has ended would never be
// sent, and this program is about those that are on their way already.
func (c *candidate) send(ctx context.Context, s fencing.Stamp, text string) error {
	body, err := json.Marshal(command{From: c.name, Text: text})
	if err != nil {
		return err
	}
	sending, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.granted)
	defer cancel()
	return c.ledger.Put(sending, s, body)
}

// refused tells what the ledger has said, and what the term says itself.
func (c *candidate) refused(t *election.Term, what string, err error) error {
	if !errors.Is(err, fencing.ErrStale) {
		return err
	}
	c.about(t, saysEvent, what+" refused: "+err.Error())
	select { // a context may lag behind the clock by scheduling
	case <-t.Context().Done():
		c.about(t, saysEvent, "own context: "+context.Cause(t.Context()).Error())
	case <-time.After(c.granted):
		c.about(t, saysEvent, "refused, and yet the term's context has not ended")
	}
	return err
}

// dial connects to the ensemble, and says after a while that there is none.
func dial(ctx context.Context, servers []string, timeout time.Duration, who string) (*zkconn.Client, error) {
	dialing, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %v; is ZooKeeper running there, and -zk right?", patience))
	defer cancel()
	return zkconn.Dial(dialing, servers, zkconn.WithSessionTimeout(timeout), zkconn.WithIdentity(who))
}

// hangUp closes the session, also where ctx has ended.
func hangUp(ctx context.Context, client *zkconn.Client, within time.Duration) error {
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer cancel()
	return client.Close(closing)
}

func (c *candidate) say(r report) {
	if err := c.out.Send(r); err != nil {
		// Nobody reads: without the parent there is nothing left to do here.
		os.Exit(1)
	}
}
