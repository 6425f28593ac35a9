package fulldisk

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// TB is what it needs of a test; a *testing.T has it.
type TB interface {
	Helper()
	Name() string
	Context() context.Context
	Fatalf(format string, args ...any)
}

// WithRoom lets files grow to size bytes and no further while f runs, as on a full
// disk: a write that goes beyond is cut short and fails with EFBIG. That goes for every
// file of the process, so it is called within Alone.
func WithRoom(t TB, size uint64, f func()) {
	t.Helper()
	if os.Getenv(aloneEnv) == "" {
		t.Fatalf("fulldisk: WithRoom is called outside Alone")
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
		t.Fatalf("getrlimit: %v", err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: size, Max: before.Max}); err != nil {
		t.Fatalf("setrlimit: %v", err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatalf("setrlimit: %v", err)
		}
	}()
	f()
}
