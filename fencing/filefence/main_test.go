package filefence

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is its own writer: processes that are to be killed run it again.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		os.Exit(child())
	}
	goleak.VerifyTestMain(m)
}
