package redisfence_test

import (
	"testing"

	"github.com/zkfence/zkfence/fencing/internal/zerotest"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// A Guard whose constructor's error was not looked at, or that was declared and never
// made, panicked in the middle of somebody's command.
func TestAGuardThatNobodyHasMadeRefusesEverything(t *testing.T) {
	command := redisfence.Command{Resource: "r", Stamp: at(t, 1, 1)}
	for _, g := range []*redisfence.Guard{nil, {}} {
		zerotest.Refuses(t, g, "guard was not made by New", command, lua(t, "return 1"))
	}
}
