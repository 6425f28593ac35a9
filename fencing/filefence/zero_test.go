package filefence

import (
	"testing"

	"github.com/zkfence/zkfence/fencing/internal/zerotest"
)

// A Guard whose constructor's error was not looked at, or that was declared and never
// made, panicked in the middle of somebody's command.
func TestAGuardThatNobodyHasMadeRefusesEverything(t *testing.T) {
	for _, g := range []*Guard{nil, {}} {
		zerotest.Refuses(t, g, "guard was not made by New")
	}
}
