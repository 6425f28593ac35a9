package fencing_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

func TestContextCarries(t *testing.T) {
	ctx := t.Context()

	t.Run("Nothing", func(t *testing.T) {
		_, ok := fencing.FromContext(ctx)
		require.False(t, ok)
		_, ok = fencing.StampFromContext(ctx)
		require.False(t, ok)
	})
	t.Run("AToken", func(t *testing.T) {
		tok, ok := fencing.FromContext(fencing.NewContext(ctx, token(t, 7)))
		require.True(t, ok)
		require.Equal(t, token(t, 7), tok)
	})
	t.Run("AStampBesideTheToken", func(t *testing.T) {
		both := fencing.WithStamp(fencing.NewContext(ctx, token(t, 7)), stamp(t, 7, 3))
		s, ok := fencing.StampFromContext(both)
		require.True(t, ok)
		require.Equal(t, stamp(t, 7, 3), s)
		tok, ok := fencing.FromContext(both)
		require.True(t, ok)
		require.Equal(t, token(t, 7), tok)

		_, ok = fencing.FromContext(fencing.WithStamp(ctx, stamp(t, 7, 3)))
		require.False(t, ok, "a Stamp is no claim to hold")
	})
	t.Run("TheInnermost", func(t *testing.T) {
		inner := fencing.NewContext(fencing.NewContext(ctx, token(t, 7)), token(t, 9))
		tok, _ := fencing.FromContext(inner)
		require.Equal(t, token(t, 9), tok)
	})
	// "There is one, and it is zero" would be taken for authority by whoever
	// looks at ok alone.
	t.Run("NothingThatCouldNotAct", func(t *testing.T) {
		for _, c := range []context.Context{
			fencing.NewContext(ctx, fencing.Token{}),
			fencing.NewContext(fencing.NewContext(ctx, token(t, 7)), fencing.Token{}),
		} {
			_, ok := fencing.FromContext(c)
			require.False(t, ok)
		}
		for _, s := range []fencing.Stamp{{}, stamp(t, 7, 0), stamp(t, 0, 1)} {
			_, ok := fencing.StampFromContext(fencing.WithStamp(ctx, s))
			require.False(t, ok, s)
		}
	})
}
