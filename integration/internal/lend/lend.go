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
	ens  *ensemble.Ensemble
	err  error
	had  bool
	turn bool
}

// Main runs the tests and returns what to exit with.
func (s *Shared) Main(m *testing.M) int {
	ctx := context.Background() // before the first test and after the last there is none to lend one
	stop := closeAtSignal(ctx)
	code := m.Run()
	stop()
	if s.ens != nil {
		if err := s.ens.Close(ctx); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// Three returns the ensemble, all of its servers serving. Without an engine the
// test is skipped. Where there is no image to run, the first test says what to do,
// and the others that it was said.
func (s *Shared) Three(t *testing.T) *ensemble.Ensemble {
	t.Helper()
	again := s.had
	if !s.had {
		s.take(t)
		s.had = true
		s.ens, s.err = ensemble.Start(t.Context())
	}
	switch {
	case errors.Is(s.err, ensemble.ErrNoEngine):
		t.Skipf("SKIPPED: %v", s.err)
	case errors.Is(s.err, ensemble.ErrNoImage) && again:
		t.Fatal("no image to run, as the first test has said")
	case errors.Is(s.err, ensemble.ErrNoImage):
		t.Fatal(s.err)
	}
	require.NoError(t, s.err)
	require.NoError(t, s.ens.Await(t.Context()))
	return s.ens
}

// take waits for this binary's turn. A run of tests without an ensemble needs none.
func (s *Shared) take(t *testing.T) {
	t.Helper()
	if !s.turn {
		require.NoError(t, turn.Take())
		s.turn = true
	}
}

// Close gives the machine to a test that starts an ensemble of its own.
func (s *Shared) Close(t *testing.T) {
	t.Helper()
	s.take(t)
	if s.ens != nil {
		require.NoError(t, s.ens.Close(t.Context()))
	}
	s.ens, s.had = nil, false
}
