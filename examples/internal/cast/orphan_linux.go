package cast

import (
	"os/exec"
	"syscall"
)

// Wakes says that no process stays stopped when its parent is gone.
const Wakes = true

// wakeOrphan has a process go on when its parent dies, however that happens: one
// that is stopped would never see that its input has ended.
func wakeOrphan(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGCONT}
}
