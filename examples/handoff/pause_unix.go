//go:build unix

package main

import (
	"os"
	"syscall"
)

// canStop says that this system can stop a process at any instruction.
const canStop = true

func stopProcess(p *os.Process) error     { return p.Signal(syscall.SIGSTOP) }
func continueProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
