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
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/zkfence/zkfence/integration/history"
)

// TB is what Start needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Process is a worker as its parent sees it.
type Process struct {
	name  string
	log   *history.Log
	cmd   *exec.Cmd
	ended chan struct{} // its output has been read to the end
	in    io.WriteCloser
	wall  *wallClock // nil: the machine's

	mu     sync.Mutex
	orders uint64
	waits  map[uint64]chan Done
	err    error // of its output
}

// Start starts a worker, whose events go to log. The end of the test kills it, if
// nothing has ended it before.
func Start(tb TB, c Config, log *history.Log) *Process {
	tb.Helper()
	p, err := start(c, log)
	if err != nil {
		tb.Fatalf("worker %s: %v", c.Name, err)
		return nil
	}
	tb.Cleanup(func() {
		// Ended already, unless the test has failed.
		_ = p.cmd.Process.Kill()
		<-p.ended
		_ = p.cmd.Wait()
	})
	return p
}

func start(c Config, log *history.Log) (*Process, error) {
	config, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &Process{name: c.Name, log: log, cmd: exec.Command(self), ended: make(chan struct{}), waits: map[uint64]chan Done{}}
	p.cmd.Env = append(os.Environ(), env+"="+string(config))
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.OwnWallClock {
		p.wall, err = startWithWallClock(p.cmd)
	} else {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	go p.read(out)
	return p, nil
}

func (p *Process) read(out io.Reader) {
	defer close(p.ended)
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return // a line that a kill has cut short tells nothing
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			p.mu.Lock()
			p.err = errors.Join(p.err, fmt.Errorf("%q: %w", text, err))
			p.mu.Unlock()
			continue
		}
		if l.Event != nil {
			p.log.Add(*l.Event)
		}
		if l.Done != nil {
			p.mu.Lock()
			wait := p.waits[l.Done.Order]
			delete(p.waits, l.Done.Order)
			p.mu.Unlock()
			wait <- *l.Done
		}
	}
}

// Name returns the name in its Config, which its events carry.
func (p *Process) Name() string { return p.name }

// Begin gives an order and does not wait for it.
func (p *Process) Begin(do, value string) (*Pending, error) {
	p.mu.Lock()
	p.orders++
	pending := &Pending{p: p, do: do, done: make(chan Done, 1)}
	o := Order{ID: p.orders, Do: do, Value: value}
	p.waits[o.ID] = pending.done
	p.mu.Unlock()
	return pending, p.send(o)
}

func (p *Process) send(o Order) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	_, err = p.in.Write(append(text, '\n'))
	return err
}

// Do gives an order and waits until it is done, with the error that it ended with.
func (p *Process) Do(ctx context.Context, do, value string) (Done, error) {
	pending, err := p.Begin(do, value)
	if err != nil {
		return Done{}, err
	}
	return pending.Wait(ctx)
}

// Halt ends a Cycle after the hold that it is in.
func (p *Process) Halt() error { return p.send(Order{Halt: true}) }

// Pending is an order under way.
type Pending struct {
	p    *Process
	do   string
	done chan Done
}

// Wait waits until the order is done, and returns the error that it ended with.
func (o *Pending) Wait(ctx context.Context) (Done, error) {
	var err error
	select {
	case d := <-o.done:
		return o.result(d)
	case <-o.p.ended:
		select {
		case d := <-o.done: // its last words
			return o.result(d)
		default:
			err = errors.New("the worker has ended")
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return Done{}, fmt.Errorf("%s: %s: %w", o.p.name, o.do, err)
}

func (o *Pending) result(d Done) (Done, error) {
	if d.Err != "" {
		return d, fmt.Errorf("%s: %s: %s", o.p.name, o.do, d.Err)
	}
	return d, nil
}

// Stop stops the process where it is, by SIGSTOP, and notes that as a fault.
func (p *Process) Stop() error {
	p.log.Add(history.Event{At: Now(), Kind: history.Fault, Worker: p.name, Reason: "worker stopped", Stops: true})
	return p.cmd.Process.Signal(syscall.SIGSTOP)
}

// Continue lets a stopped process go on.
func (p *Process) Continue() error {
	err := p.cmd.Process.Signal(syscall.SIGCONT)
	p.log.Add(history.Event{At: Now(), Kind: history.Healed, Worker: p.name, Reason: "worker stopped"})
	return err
}

// SetWallClock steps the wall clock of a process that has one of its own: from now
// on it is off by that, in whole seconds. It is an error if OwnWallClock was not
// set.
func (p *Process) SetWallClock(off time.Duration) error {
	if p.wall == nil {
		return fmt.Errorf("%s: SetWallClock: Config.OwnWallClock is not set", p.name)
	}
	return p.wall.set(off)
}

// Kill ends the process at once, by SIGKILL, notes that as a fault, and waits until
// it has ended.
func (p *Process) Kill() error {
	p.log.Add(history.Event{At: Now(), Kind: history.Fault, Worker: p.name, Reason: "worker killed"})
	err := p.cmd.Process.Kill()
	<-p.ended
	p.log.Add(history.Event{At: Now(), Kind: history.Gone, Worker: p.name})
	return err
}

// closeTimeout is longer than a worker takes that waits for the lock when it is told
// to end: the rest of that wait, an unlock, and the close of its session.
const closeTimeout = lockTimeout + 3*endTimeout

// Close lets the process give back what it holds, close its session and end, and
// waits for that. One that does not end is killed, which is an error.
func (p *Process) Close() error { return p.close(closeTimeout) }

func (p *Process) close(within time.Duration) error {
	err := p.in.Close()
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-p.ended:
	case <-timer.C:
		err = errors.Join(err, fmt.Errorf("has not ended within %v of being told to", within), p.cmd.Process.Kill())
		<-p.ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.err, p.cmd.Wait())
}
