package main

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/internal/bench/internal/figures"
	"github.com/zkfence/zkfence/zktest"
)

func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "-serve") { // spawned by run
		if err := child(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// The comparison leaves nothing behind on the real server, and what is slower
// than the limit is an error that names it.
func TestRun(t *testing.T) {
	s := zktest.New(t)
	require.NoError(t, run(t.Context(), s.Addr(), 1, 64, 0))
	require.False(t, s.Exists(dir))
	require.Empty(t, s.Sessions())
	require.ErrorContains(t, run(t.Context(), s.Addr(), 1, 64, 1e-9), scenarios[len(scenarios)-1].name+" over 16 connections")
	require.Error(t, run(t.Context(), "", 1, 64, 0))
}

func TestRatioIsTheMedianOfTheRounds(t *testing.T) {
	require.InDelta(t, 2, figures.Ratio([]float64{1, 6, 300}, []float64{1, 3, 3}), 1e-9)
}
