package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"

	"github.com/zkfence/zkfence/zktest"
)

// target is what commands act on: a server, a proxy in front of one, or an ensemble.
type target struct {
	addr     string           // as clients want it: several addresses with commas
	faults   []*zktest.Faults // each server's, or the proxy's
	servers  []*zktest.Server // none behind a proxy
	ensemble *zktest.Ensemble // nil if there is none
	close    func()
	expire   func(session int64) error
}

// head is the server that an operator talks to: the leader, since others may be late
// or cut off, and what is asked of them waits until they have it.
func (t *target) head() *zktest.Server {
	if t.ensemble != nil {
		if s := t.ensemble.Leader(); s != nil {
			return s
		}
	}
	return t.servers[0]
}

// longestCommand bounds a line of input; a path may be long.
const longestCommand = 1 << 20

// obey carries out commands until the end of the input. It returns why it cannot
// read or answer.
func (t *target) obey(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestCommand)
	for lines.Scan() {
		// Indented: a node may be called "ok".
		var answer []byte
		err := t.do(lines.Text(), func(line string) { answer = fmt.Appendf(answer, "  %s\n", line) })
		if err != nil {
			answer = fmt.Appendln(answer, "error:", err)
		} else {
			answer = fmt.Appendln(answer, "ok")
		}
		if _, err := out.Write(answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// tell writes everything that happens to out, until it is stopped.
func (t *target) tell(out io.Writer) (stop func()) {
	log := slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	var stops []func()
	for i, f := range t.faults {
		each := log
		if t.ensemble != nil {
			each = log.With("server", i+1)
		}
		stops = append(stops, f.Follow(zktest.LogTo(each)))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}
