package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"time"
)

// workerEnv makes this program run as the worker it names.
const workerEnv = "ZKFENCE_HANDOFF_WORKER"

// process is a worker as its parent sees it.
type process struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	in    *lines
	said  chan says // closed at the end of its output
	done  chan struct{}
}

// startWorker starts this program a second time, as a worker. The process ends
// when ctx does, stopped or not.
func startWorker(ctx context.Context, name string, job assignment, tl *timeline) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) // which kills: a stopped process heeds nothing less
	cmd.Env = append(os.Environ(), workerEnv+"="+name)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, stdin: stdin, in: &lines{w: stdin}, said: make(chan says, 64), done: make(chan struct{})}
	go func() { // waited for by end
		defer close(p.done)
		defer close(p.said)
		p.listen(ctx, stdout, tl)
	}()
	return p, p.in.send(job)
}

// listen prints what the worker says and passes it on.
func (p *process) listen(ctx context.Context, stdout io.Reader, tl *timeline) {
	output := json.NewDecoder(stdout)
	for {
		var s says
		if err := output.Decode(&s); err != nil {
			return
		}
		token := ""
		if !s.Token.IsZero() {
			token = s.Token.String()
		}
		tl.line(p.name, token, s.State, s.Text)
		select {
		case p.said <- s:
		case <-ctx.Done():
			return
		}
	}
}

// await waits until the worker says one of whats, and returns what it said. That
// the worker failed or ended instead is an error.
func (p *process) await(ctx context.Context, whats ...string) (says, error) {
	for {
		select {
		case s, ok := <-p.said:
			switch {
			case !ok:
				return says{}, fmt.Errorf("%s ended before it was %v", p.name, whats)
			case slices.Contains(whats, s.What):
				return s, nil
			case s.What == saysFailed:
				return says{}, fmt.Errorf("%s: %s", p.name, s.Text)
			}
		case <-ctx.Done():
			return says{}, fmt.Errorf("waiting for %s to be %v: %w", p.name, whats, context.Cause(ctx))
		}
	}
}

func (p *process) order(what string) error { return p.in.send(what) }

// end closes the worker's input, which ends it once its work is done, and waits.
func (p *process) end() error {
	err := p.stdin.Close()
	<-p.done // before Wait, which closes what listen reads
	return errors.Join(err, p.cmd.Wait())
}
