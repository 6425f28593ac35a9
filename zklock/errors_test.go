package zklock

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
)

func TestWhatALostErrorMatches(t *testing.T) {
	for r := SessionExpired; r <= ClientClosed; r++ {
		t.Run(r.String(), func(t *testing.T) {
			err := fmt.Errorf("wrapped: %w", &LostError{Path: "/p", Reason: r})
			require.ErrorIs(t, err, ErrLost)
			require.Equal(t, r == MaxHold, errors.Is(err, ErrMaxHold))
			require.Equal(t, r == ClientClosed, errors.Is(err, zkconn.ErrClosed))
			require.NotErrorIs(t, err, ErrReleased)
		})
	}
}

func TestALostErrorNamesPathTokenAndReason(t *testing.T) {
	token, err := fencing.FromUint64(0x1f)
	require.NoError(t, err)
	require.Equal(t, "zklock: lost: /app/x with token 0x1f: node deleted",
		(&LostError{Path: "/app/x", Token: token, Reason: NodeDeleted}).Error())
}

func TestEveryReasonOfASessionHasOneHere(t *testing.T) {
	require.Equal(t, SessionExpired, reasonOf(session.Expired))
	require.Equal(t, SessionReplaced, reasonOf(session.Replaced))
	require.Equal(t, TrustRanOut, reasonOf(session.TrustRanOut))
	require.Equal(t, ClientClosed, reasonOf(session.Closed))
	require.Equal(t, NodeDeleted, reasonOf(session.NodeGone))
}
