package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// size is a terminal's. The table needs 20 lines and 80 columns.
type size struct{ lines, columns int }

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
	return size{max(s.lines, 20), max(s.columns, 80)}, true
}
