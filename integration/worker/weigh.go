//go:build linux

package worker

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// Weight is what a worker's process takes once it has thrown away all it can.
type Weight struct {
	Resident   int64 // bytes of memory that the kernel counts for it
	Heap       int64 // bytes of objects that are reached
	Goroutines int
}

// weigh has the process collect its garbage first: what counts is what it cannot
// do without.
func weigh() (Weight, error) {
	runtime.GC() // runs finalizers of what the next one then collects
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return Weight{}, err
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		return Weight{}, fmt.Errorf("/proc/self/statm %q: %w", statm, err)
	}
	return Weight{Resident: resident * int64(os.Getpagesize()), Heap: int64(m.HeapAlloc), Goroutines: runtime.NumGoroutine()}, nil
}
