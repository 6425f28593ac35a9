package sqlfence_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if source := os.Getenv(writerSource); source != "" {
		writeUntilKilled(source)
		return
	}
	goleak.VerifyTestMain(m)
}
