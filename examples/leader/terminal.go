package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// size is a terminal's.
type size struct{ lines, columns int }

// What the table needs, with the most candidates and one event. On less it would be
// cut off, and first of all the column of what was refused.
const (
	leastLines   = 22
	leastColumns = 80
)

func (s size) fits() bool { return s.lines >= leastLines && s.columns >= leastColumns }

// terminal reports whether f is one that understands us, and its size.
func terminal(f *os.File) (size, bool) {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 || runtime.GOOS == "windows" {
		return size{}, false
	}
	if term := os.Getenv("TERM"); term == "" || term == "dumb" {
		return size{}, false
	}
	s := size{24, 80} // where nobody knows
	stty := exec.Command("stty", "size")
	stty.Stdin = f // which it is about
	var told size
	if out, err := stty.Output(); err == nil {
		if _, err := fmt.Sscan(string(out), &told.lines, &told.columns); err == nil && told.lines > 0 && told.columns > 0 {
			s = told
		}
	}
	return s, true
}
