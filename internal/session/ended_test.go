package session

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
)

// pathError is a cause of a type of its own.
type pathError struct{ error }

func (p pathError) Unwrap() error { return p.error }

func TestTheEndOfAContextSettlesNoRequest(t *testing.T) {
	errOther := errors.New("a sibling's")
	for _, verdict := range []error{zk.ErrNoNode, zk.ErrBadVersion, zk.ErrNodeExists, zk.ErrShortBuffer, zk.ErrNoServer} {
		cause := pathError{fmt.Errorf("%w: %w", errOther, verdict)}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(cause)
		err := fmt.Errorf("some request: %w", Ended(ctx))
		require.Equal(t, OutcomeUnknown, OutcomeOf(err), "%v", verdict)
		require.NotErrorIs(t, err, verdict)
		require.ErrorIs(t, err, errOther)
		var as pathError
		require.ErrorAs(t, err, &as)
		require.Equal(t, cause, as)
		require.EqualError(t, err, "some request: "+cause.Error())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, context.Canceled, Ended(ctx), "a plain one stays what it is")
}
