package door_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the door whose process is killed.
func TestMain(m *testing.M) {
	if os.Getenv(childEnv) != "" {
		if childMain != nil {
			os.Exit(childMain())
		}
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// childEnv says what a child is to do, as "folder,token,the stamp that the last one was
// killed at".
const childEnv = "DOOR_TEST_CHILD"

// childMain is nil where no process can be killed as these tests do.
var childMain func() int
