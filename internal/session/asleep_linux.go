package session

import (
	"syscall"
	"time"
	"unsafe"
)

const (
	clockMonotonic = 1
	clockBoottime  = 7
)

// slept returns how long this machine has been suspended since it booted, up to
// a constant: CLOCK_MONOTONIC, which Go's timers follow, stands still meanwhile
// and CLOCK_BOOTTIME does not. Both are read from the kernel, never one of them
// through package time: under a test's virtual time they would disagree by
// years.
func slept(time.Time) time.Duration {
	return kernelClock(clockBoottime) - kernelClock(clockMonotonic)
}

func kernelClock(id uintptr) time.Duration {
	var ts syscall.Timespec
	if _, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, id, uintptr(unsafe.Pointer(&ts)), 0); errno != 0 {
		return 0
	}
	return time.Duration(ts.Nano())
}
