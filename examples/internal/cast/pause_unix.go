//go:build unix

package cast

import (
	"os"
	"syscall"
)

// CanStop says that this system can stop a process at any instruction.
const CanStop = true

func stopProcess(p *os.Process) error     { return p.Signal(syscall.SIGSTOP) }
func continueProcess(p *os.Process) error { return p.Signal(syscall.SIGCONT) }
