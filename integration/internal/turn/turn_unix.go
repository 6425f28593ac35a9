//go:build unix

package turn

import (
	"os"
	"path/filepath"
	"syscall"
)

// Take waits until no other process has the turn, and keeps it until this one
// ends.
func Take() error {
	// No os.File: that would be closed when nobody refers to it any more.
	name := filepath.Join(os.TempDir(), "zkfence-integration.lock")
	fd, err := syscall.Open(name, syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return &os.PathError{Op: "take turns by", Path: name, Err: err}
	}
	return syscall.Flock(fd, syscall.LOCK_EX)
}
