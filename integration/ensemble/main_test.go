package ensemble_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/internal/turn"
)

// shared is the ensemble of all tests that leave it as they have found it. It is
// started for the first that asks, and closed by TestMain.
var shared struct {
	ens *ensemble.Ensemble
	err error
	had bool
}

func TestMain(m *testing.M) {
	if err := turn.Take(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if shared.ens != nil {
		if err := shared.ens.Close(context.Background()); err != nil { // no test is left to lend one
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// three returns the shared ensemble, all of its servers serving. Tests that use it
// do not run in parallel.
func three(t *testing.T) *ensemble.Ensemble {
	t.Helper()
	if !shared.had {
		shared.had = true
		shared.ens, shared.err = ensemble.Start(t.Context())
	}
	if errors.Is(shared.err, ensemble.ErrNoEngine) {
		t.Skipf("SKIPPED: %v", shared.err)
	}
	require.NoError(t, shared.err)
	require.NoError(t, shared.ens.Await(t.Context()))
	return shared.ens
}

// closeShared gives the machine to a test that starts an ensemble of its own.
func closeShared(t *testing.T) {
	t.Helper()
	if shared.ens != nil {
		require.NoError(t, shared.ens.Close(t.Context()))
	}
	shared.ens, shared.had = nil, false
}
