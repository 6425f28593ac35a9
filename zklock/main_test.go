package zklock

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("ZKFENCE_ZK") != "" {
		// What runs in parallel waits for a real server, not for a processor. Set
		// before the command line is read, which still has the last word.
		_ = flag.Set("test.parallel", "16")
	}
	goleak.VerifyTestMain(m)
}
