//go:build linux

package story_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/zkfence/zkfence/integration/internal/lend"
	"github.com/zkfence/zkfence/integration/neighbour"
	"github.com/zkfence/zkfence/integration/worker"
)

// long asks for the long form of what has one.
const long = "ZKFENCE_LONG"

// times is how often a story is told: n, or m in the long form.
func times(n, m int) int {
	if os.Getenv(long) != "" {
		return m
	}
	return n
}

var (
	shared lend.Shared
	told   report
)

func TestMain(m *testing.M) {
	worker.Main()
	neighbour.Main()
	code := shared.Main(m)
	if err := told.tell(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
