// Package lend has the tests of one package share one ensemble.
package lend

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

// Shared is the ensemble of all tests of a package that leave it as they have
// found it. It is started for the first that asks, and closed by Main. The zero
// Shared is ready; tests that use it do not run in parallel.
type Shared struct {
	ens *ensemble.Ensemble
	err error
	had bool
}

// Main runs the tests, when it is this binary's turn, and returns what to exit with.
func (s *Shared) Main(m *testing.M) int {
	if err := turn.Take(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if s.ens != nil {
		if err := s.ens.Close(context.Background()); err != nil { // no test is left to lend one
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// Three returns the ensemble, all of its servers serving. Without an engine the
// test is skipped.
func (s *Shared) Three(t *testing.T) *ensemble.Ensemble {
	t.Helper()
	if !s.had {
		s.had = true
		s.ens, s.err = ensemble.Start(t.Context())
	}
	if errors.Is(s.err, ensemble.ErrNoEngine) {
		t.Skipf("SKIPPED: %v", s.err)
	}
	require.NoError(t, s.err)
	require.NoError(t, s.ens.Await(t.Context()))
	return s.ens
}

// Close gives the machine to a test that starts an ensemble of its own.
func (s *Shared) Close(t *testing.T) {
	t.Helper()
	if s.ens != nil {
		require.NoError(t, s.ens.Close(t.Context()))
	}
	s.ens, s.had = nil, false
}
