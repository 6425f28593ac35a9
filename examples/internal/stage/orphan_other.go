//go:build !linux

package stage

import "os/exec"

// wakeOrphan has nothing to offer here: a process that is stopped when its parent
// is killed stays so, until somebody wakes or kills it.
func wakeOrphan(*exec.Cmd) {}
