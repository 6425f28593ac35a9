package znodefence_test

import (
	"testing"

	"github.com/zkfence/zkfence/fencing/internal/zerotest"
	"github.com/zkfence/zkfence/fencing/znodefence"
)

// A Guard whose constructor's error was not looked at, or that was declared and never
// made, panicked in the middle of somebody's command.
func TestAGuardThatNobodyHasMadeRefusesEverything(t *testing.T) {
	var c znodefence.Command
	c.Resource = "r"
	for _, g := range []*znodefence.Guard{nil, {}} {
		zerotest.Refuses(t, g, "guard was not made by New", c)
	}
}
