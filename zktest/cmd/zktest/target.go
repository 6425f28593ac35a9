package main

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"

	"github.com/zkfence/zkfence/zktest"
)

// target is what commands act on: a server, or a proxy in front of one.
type target struct {
	*zktest.Target
	faults *zktest.Faults
	addr   string
	close  func()
	expire func(session int64) error
	server *zktest.Server // nil behind a proxy
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
	return t.Follow(zktest.LogTo(slog.New(slog.NewTextHandler(out, &slog.HandlerOptions{Level: slog.LevelDebug}))))
}
