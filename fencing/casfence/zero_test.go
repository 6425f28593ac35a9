package casfence

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing/internal/zerotest"
)

// A Guard whose constructor's error was not looked at, or that was declared and never
// made, panicked in the middle of somebody's command.
func TestAGuardThatNobodyHasMadeRefusesEverything(t *testing.T) {
	for _, g := range []*Guard{nil, {}} {
		zerotest.Refuses(t, g, "guard was not made by New")
	}
}

// So did the store of an OpenFiles whose error was not looked at.
func TestAStoreThatNobodyHasMadeIsNamed(t *testing.T) {
	for want, s := range map[string]Store{"nil *casfence.Files": (*Files)(nil), "nil *casfence.Memory": (*Memory)(nil)} {
		_, err := New(s)
		require.ErrorContains(t, err, want)
	}
	for _, f := range []*Files{nil, {}} {
		zerotest.Refuses(t, f, "Files was not made by OpenFiles")
	}
	require.ErrorContains(t, guardOf(t, new(Files)).Raise(t.Context(), "r", stamp(t, "0x1:0").Token), "OpenFiles")
}
