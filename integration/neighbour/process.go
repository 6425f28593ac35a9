//go:build linux

package neighbour

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// TB is what Start needs of a *testing.T.
type TB interface {
	Helper()
	Cleanup(func())
	TempDir() string
	Fatalf(format string, args ...any)
}

// Config is what a contender starts with.
type Config struct {
	Name     string // stands in its node where the recipe allows
	Recipe   Recipe
	Servers  []string
	Timeout  time.Duration // of the session
	Path     string
	Operator *zk.Conn // reads its nodes
}

// Process is one contender. It is in line, or holds, once at a time.
type Process struct {
	Config
	log   *history.Log
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // what it says; closed at its end

	started time.Duration
	session int64 // 0 until it has said so
	attempt uint64
	holds   bool
	waits   sync.WaitGroup // Pendings
}

// Start starts a contender, whose events go to log. The end of the test kills it,
// if nothing has ended it before.
func Start(tb TB, c Config, log *history.Log) *Process {
	tb.Helper()
	p, err := start(c, log, tb.TempDir())
	if err != nil {
		tb.Fatalf("neighbour %s: %v", c.Name, err)
		return nil
	}
	tb.Cleanup(func() {
		// Ended already, unless the test has failed.
		_ = p.cmd.Process.Kill()
		p.waits.Wait()
		p.drain()
		_ = p.cmd.Wait()
	})
	return p
}

func start(c Config, log *history.Log, dir string) (*Process, error) {
	library, recipe := c.Recipe.split()
	args := []string{recipe, strings.Join(c.Servers, ","), strconv.FormatInt(c.Timeout.Milliseconds(), 10), c.Path, c.Name}
	p := &Process{Config: c, log: log, lines: make(chan string), started: worker.Now()}
	switch library {
	case "curator":
		file := filepath.Join(dir, "CuratorNeighbour.java")
		if err := os.WriteFile(file, []byte(curator), 0o600); err != nil {
			return nil, err
		}
		java := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp", strings.Join(jars(), ":"), file}
		p.cmd = exec.Command("java", append(java, args...)...)
	case "kazoo":
		p.cmd = exec.Command(python, append([]string{"-B", "-c", kazoo}, args...)...)
	default:
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		p.cmd = exec.Command(self, args...)
		p.cmd.Env = append(os.Environ(), env+"=1")
	}
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.lines <- lines.Text()
		}
	}()
	return p, nil
}

// drain waits until all that it had to say is said.
func (p *Process) drain() {
	for range p.lines { // nobody wants it any more
	}
}

// hear waits for the line that begins with that word, and returns the time in it
// and its rest.
func (p *Process) hear(ctx context.Context, word string) (at time.Duration, rest string, err error) {
	var line string
	select {
	case text, ok := <-p.lines:
		if !ok {
			return 0, "", fmt.Errorf("%s: %s: the process has ended", p.Name, word)
		}
		line = text
	case <-ctx.Done():
		return 0, "", fmt.Errorf("%s: %s: %w", p.Name, word, context.Cause(ctx))
	}
	said, rest, _ := strings.Cut(line, " ")
	clock, rest, _ := strings.Cut(rest, " ")
	ns, err := strconv.ParseInt(clock, 10, 64)
	at = time.Duration(ns)
	switch {
	case said == "failed" && err == nil:
		return at, rest, fmt.Errorf("%s: %s: %w: %s", p.Name, word, errFailed, rest)
	case said != word || err != nil:
		return at, rest, fmt.Errorf("%s: has said %q, not %s", p.Name, line, word)
	}
	return at, rest, nil
}

var errFailed = errors.New("failed")

// Ready waits until it has a session.
func (p *Process) Ready(ctx context.Context) error {
	if p.session != 0 {
		return nil
	}
	at, session, err := p.hear(ctx, "ready")
	if err != nil {
		return err
	}
	if now := worker.Now(); at < p.started || at > now {
		return fmt.Errorf("%s: its clock is not ours: ready at %v, between %v and %v", p.Name, at, p.started, now)
	}
	p.session, err = strconv.ParseInt(session, 10, 64)
	return err
}

func (p *Process) say(order string) error {
	if _, err := io.WriteString(p.in, order+"\n"); err != nil {
		return fmt.Errorf("%s: %s: %w", p.Name, order, err)
	}
	return nil
}

func (p *Process) tell(e history.Event) {
	e.Worker, e.Path, e.Attempt = p.Name, p.Path, p.attempt
	p.log.Add(e)
}

// Pending is a contender on its way into the lock.
type Pending struct {
	p      *Process
	done   chan struct{}
	failed chan struct{}
	err    error // once done
}

// Wait waits until it holds, or has failed to.
func (w *Pending) Wait() error {
	<-w.done
	return w.err
}

// Begin has it get in line, and does not wait until it holds. ctx bounds the wait.
func (p *Process) Begin(ctx context.Context) (*Pending, error) {
	if err := p.Ready(ctx); err != nil {
		return nil, err
	}
	p.attempt++
	if err := p.say("lock"); err != nil {
		return nil, err
	}
	w := &Pending{p: p, done: make(chan struct{}), failed: make(chan struct{})}
	p.waits.Go(func() {
		defer close(w.done)
		if w.err = p.granted(ctx); w.err != nil {
			close(w.failed)
		}
	})
	return w, nil
}

// Lock has it get in line, and waits until it holds.
func (p *Process) Lock(ctx context.Context) error {
	w, err := p.Begin(ctx)
	if err != nil {
		return err
	}
	return w.Wait()
}

// forEver is how long a hold may be trusted that nobody has told how long.
const forEver = time.Hour

func (p *Process) granted(ctx context.Context) error {
	at, _, err := p.hear(ctx, "began")
	if err != nil {
		return err
	}
	p.tell(history.Event{At: at, Kind: history.Began})
	at, reason, err := p.hear(ctx, "granted")
	if err != nil {
		if errors.Is(err, errFailed) {
			p.tell(history.Event{At: at, Kind: history.Failed, Reason: reason})
		}
		return err
	}
	node, err := p.node(ctx)
	if err != nil {
		return err
	}
	p.holds = true
	p.tell(history.Event{At: at, Kind: history.Enrolled, Node: node.name})
	p.tell(history.Event{At: at, Kind: history.Granted, Token: node.token})
	p.tell(history.Event{At: at, Kind: history.Belief, Remaining: forEver})
	return nil
}

// Unlock has it give back what it holds, and waits until it has.
func (p *Process) Unlock(ctx context.Context) error {
	if err := p.say("unlock"); err != nil {
		return err
	}
	at, _, err := p.hear(ctx, "unlocking")
	if err != nil {
		return err
	}
	p.holds = false
	p.tell(history.Event{At: at, Kind: history.Unlocking})
	if at, _, err = p.hear(ctx, "released"); err != nil {
		return err
	}
	p.tell(history.Event{At: at, Kind: history.Released})
	return nil
}

// Ask has it say who leads: what the first in line has in its node.
func (p *Process) Ask(ctx context.Context) (string, error) {
	if err := p.say("leader"); err != nil {
		return "", err
	}
	_, leader, err := p.hear(ctx, "leader")
	return leader, err
}

// Kill ends the process at once, by SIGKILL, and waits until it has. Its session
// lives on until it times out. What it held counts as lost from before the kill.
func (p *Process) Kill() error {
	at := worker.Now()
	err := p.cmd.Process.Kill()
	p.waits.Wait()
	p.drain()
	p.log.Add(history.Event{At: at, Kind: history.Fault, Worker: p.Name, Reason: "neighbour killed"})
	if p.holds {
		p.tell(history.Event{At: at, Kind: history.Lost, Reason: "killed"})
	}
	p.log.Add(history.Event{At: worker.Now(), Kind: history.Gone, Worker: p.Name})
	return err
}

// Close lets the process close its session and end, and waits for that. It must
// not be in line.
func (p *Process) Close() error {
	err := p.in.Close()
	p.drain()
	if err = errors.Join(err, p.cmd.Wait()); err != nil {
		return fmt.Errorf("%s: %w", p.Name, err)
	}
	return nil
}
