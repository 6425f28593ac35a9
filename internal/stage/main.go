package stage

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// Main is what a test package that plays scenes has for its TestMain.
func Main(m *testing.M) {
	if os.Getenv("ZKFENCE_ZK") != "" {
		// What runs in parallel waits for a real server, not for a processor. Set
		// before the command line is read, which still has the last word.
		_ = flag.Set("test.parallel", "16")
	}
	goleak.VerifyTestMain(m)
}
