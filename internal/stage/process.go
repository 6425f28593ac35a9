package stage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Programs are run by a test binary in processes of their own, which can be
// killed and whose memory is nobody else's. Each must end when its standard
// input does, so that none outlives the test that started it.
type Programs map[string]func(t *testing.T)

const (
	programName = "ZKFENCE_TEST_PROGRAM"
	programLine = "program: " // what a line of a program's output begins with
)

// Run is the whole of a test package's TestProgram.
func (p Programs) Run(t *testing.T) {
	program := p[os.Getenv(programName)]
	if program == nil {
		t.Skip("run by other tests, in processes of their own")
	}
	program(t)
}

// Say is how a program speaks to the test that started it.
func Say(format string, args ...any) { fmt.Printf(programLine+format+"\n", args...) }

// Process is a program under way.
type Process struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.WriteCloser
	lines chan string // what it says; closed when it has ended
}

// Start runs a program until the test ends, if not before.
func (p Programs) Start(t *testing.T, name string, env ...string) *Process {
	t.Helper()
	require.Contains(t, p, name)
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProgram$")
	cmd.Env = append(append(os.Environ(), programName+"="+name), env...)
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	running := &Process{t: t, cmd: cmd, input: input, lines: make(chan string, 16)}
	go func() { // ends with the process, whose output ends then; end waits for it
		defer close(running.lines)
		for s := bufio.NewScanner(output); s.Scan(); {
			if line, ok := strings.CutPrefix(s.Text(), programLine); ok {
				running.lines <- line
			} else if strings.TrimSpace(s.Text()) != "PASS" {
				fmt.Fprintln(os.Stderr, s.Text()) // why a program failed
			}
		}
	}()
	t.Cleanup(running.end)
	return running
}

// Line is the next thing that the program says.
func (p *Process) Line(within time.Duration) string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		require.True(p.t, ok, "the process has ended")
		return line
	case <-time.After(within):
		require.FailNow(p.t, "the process says nothing", "for %v", within)
		return ""
	}
}

// Kill ends the process as a crash does, and returns when it has ended.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // an error says that it has ended
	p.end()
}

// Tell is how the test speaks to the program: a line on its standard input.
func (p *Process) Tell(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.input, line+"\n")
	require.NoError(p.t, err)
}

// Signal sends the process a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// end takes away the program's reason to live and waits for it.
func (p *Process) end() {
	_ = p.input.Close() // again, where it has been closed: nothing was written to it
	for range p.lines {
	}
	_ = p.cmd.Wait() // killed, or a failure that it has printed itself
}

// Orphaned is a context that ends when the test that started this program has
// let go of it.
func Orphaned(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() { // ends with the program at the latest
		defer cancel()
		_, _ = io.Copy(io.Discard, os.Stdin)
	}()
	return ctx
}
