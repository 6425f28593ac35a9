package election_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zklock"
)

// lead has one context at hand, and Resign ends it: that is no reason for Resign to
// fail.
func TestResignTakesTheContextThatItEnds(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, e := s.candidate("a")
		require.NoError(s.T, e.Run(s.Ctx, func(ctx context.Context, t *election.Term) error {
			require.NoError(s.T, t.Resign(ctx))
			require.ErrorIs(s.T, context.Cause(ctx), zklock.ErrReleased)
			return nil
		}))
		term := s.lead(e)
		require.NoError(s.T, term.Resign(term.Context()))
		require.Empty(s.T, s.Nodes())
	})
}
