//go:build !linux

package cast

import "os/exec"

// Wakes says that a process may stay stopped when its parent is gone.
const Wakes = false

// wakeOrphan has nothing to offer here: a process that is stopped when its parent
// is killed stays so, until somebody wakes or kills it.
func wakeOrphan(*exec.Cmd) {}
