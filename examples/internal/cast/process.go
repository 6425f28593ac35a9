package cast

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"time"
)

// Process is this program, started once more in another role. The two talk in
// lines of JSON: an assignment and then orders on its standard input, reports on
// its standard output. Its end of input tells it that its parent is gone.
type Process struct {
	Name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	in    *Lines
	done  chan struct{}
}

// Start starts this program again with role=name in its environment, and sends it
// the assignment. listen runs on a goroutine of its own and gets what the process
// says; it must return when that ends. The process is killed when ctx ends,
// stopped or not, and whoever started it must call End or Wait.
func Start[Report any](ctx context.Context, role, name string, assignment any, listen func(said iter.Seq[Report])) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self) // which kills: a stopped process heeds nothing less
	cmd.Env = append(os.Environ(), role+"="+name)
	cmd.Stderr = os.Stderr
	cmd.WaitDelay = time.Second
	wakeOrphan(cmd)
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
	p := &Process{Name: name, cmd: cmd, stdin: stdin, in: NewLines(stdin), done: make(chan struct{})}
	go func() { // waited for by End
		defer close(p.done)
		listen(reports[Report](stdout))
	}()
	return p, p.in.Send(assignment)
}

// reports are the values that out carries, to its end.
func reports[Report any](out io.Reader) iter.Seq[Report] {
	return func(yield func(Report) bool) {
		for output := json.NewDecoder(out); ; {
			var r Report
			if output.Decode(&r) != nil || !yield(r) {
				return
			}
		}
	}
}

// Order sends the process one more line. The error says that it does not read.
func (p *Process) Order(order any) error { return p.in.Send(order) }

// OS is the process as the operating system has it.
func (p *Process) OS() *os.Process { return p.cmd.Process }

// Dismiss closes the process's input, which ends it once its work is done.
func (p *Process) Dismiss() error { return p.stdin.Close() }

// Wait waits for the process's end. It is called once. The error says how it
// ended, if not well.
func (p *Process) Wait() error {
	<-p.done // before cmd.Wait, which closes what listen reads
	return p.cmd.Wait()
}

// End dismisses the process and waits for its end.
func (p *Process) End() error { return errors.Join(p.Dismiss(), p.Wait()) }
