package door_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the door whose process is killed.
func TestMain(m *testing.M) {
	if os.Getenv("DOOR_TEST_CHILD") != "" {
		if childMain != nil {
			os.Exit(childMain())
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// childMain is nil where no process can be killed as these tests do.
var childMain func() int
