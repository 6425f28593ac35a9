//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package door

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// lockFile takes a lock that the kernel drops when the process ends, however.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another Door has it open (the lock of %s: %w): there is one door to a resource", path, err), f.Close())
	}
	return f, nil
}
