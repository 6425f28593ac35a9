package zklock_test

import (
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
)

// resource is what a scene's lock protects.
type resource struct {
	*stage.Ledger
	s *scene
}

func (s *scene) protects() resource { return resource{stage.NewLedger(), s} }

// admits has the rightful holder write.
func (r resource) admits(h *zklock.Hold) {
	r.s.T.Helper()
	require.NoError(r.s.T, r.Write(r.s.Ctx, h.Next()), "the rightful holder is refused")
	require.NoError(r.s.T, r.Broken())
}

// refuses has a holder write whose successor has written.
func (r resource) refuses(h *zklock.Hold) {
	r.s.T.Helper()
	require.ErrorIs(r.s.T, r.Write(r.s.Ctx, h.Next()), fencing.ErrStale)
	require.NoError(r.s.T, r.Broken())
}
