package znodefence_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zktest"
)

func (w *world) recordsAre(n int) {
	w.Helper()
	records, err := w.guard.Overrides(w.Context(), "the report")
	require.NoError(w, err)
	require.Len(w, records, n)
}

// An operator resets a memory, and the answer is lost. "Failed", as it said, was wrong:
// the floor was reset and the reset recorded.
func TestALostMoveWhoseContextEndsIsUnknown(t *testing.T) {
	for what, move := range map[string]func(context.Context, *znodefence.Guard) error{
		"override to 0x5:0": func(ctx context.Context, g *znodefence.Guard) error {
			return g.Override(ctx, "the report", at(t, 5, 0), "Ada", "rebuilt")
		},
		"raise to 0x14": func(ctx context.Context, g *znodefence.Guard) error {
			return g.Raise(ctx, "the report", at(t, 20, 0).Token)
		},
	} {
		for name, end := range map[string]func(ours *zktest.Target, cancel func()){
			"InTheSend": func(_ *zktest.Target, cancel func()) { cancel() },
			"InTheNextTry": func(ours *zktest.Target, cancel func()) {
				ours.At(zktest.OpGetData, func(zktest.Request) { cancel() })
				ours.DropRequest(zktest.OpGetData, 1)
			},
		} {
			t.Run(what+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				require.NoError(t, w.write(at(t, 10, 1), "first"))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, other := w.another()
				ours := w.ours()
				ours.AtReply(zktest.OpMulti, func(zktest.Request) { end(ours, cancel) })
				ours.DropReply(zktest.OpMulti, 1)
				err := move(ctx, w.guard)
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
				require.ErrorIs(t, err, context.Canceled)
				require.ErrorContains(t, err, what)
				require.NotContains(t, err.Error(), "command", "nobody sent one")
				last, err := other.Last(t.Context(), "the report")
				require.NoError(t, err)
				require.NotEqual(t, at(t, 10, 1), last, "it was applied")
			})
		}
		t.Run(what+"/NothingSent", func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			_, other := w.another()
			ctx, cancel := context.WithCancel(t.Context())
			w.ours().At(zktest.OpGetData, func(zktest.Request) { cancel() })
			w.ours().DropRequest(zktest.OpGetData, 1)
			err := move(ctx, w.guard)
			require.ErrorIs(t, err, context.Canceled)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			last, err := other.Last(t.Context(), "the report")
			require.NoError(t, err)
			require.Equal(t, at(t, 10, 1), last)
		})
	}
}

// The connection is lost again as it looks whether the reset has been recorded: that
// was the answer, though nothing was known.
func TestAnOverrideLooksUntilItKnows(t *testing.T) {
	for name, lose := range map[string]func(*zktest.Target){
		"Reply":   func(ours *zktest.Target) { ours.DropReply(zktest.OpMulti, 1) },
		"Request": func(ours *zktest.Target) { ours.DropRequest(zktest.OpMulti, 1) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			ours := w.ours()
			lose(ours)
			ours.DropRequest(zktest.OpGetChildren2, 2)
			require.NoError(t, w.guard.Override(t.Context(), "the report", at(t, 5, 0), "Ada", "rebuilt"))
			require.Zero(t, ours.Pending(), "it has looked")
			w.lastIs(at(t, 5, 0))
			w.recordsAre(1)
		})
	}
	t.Run("OfAnother", func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, w.write(at(t, 10, 1), "first"))
		require.NoError(t, w.guard.Override(t.Context(), "the report", at(t, 5, 0), "Ada", "rebuilt"))
		w.ours().DropRequest(zktest.OpMulti, 1)
		require.NoError(t, w.guard.Override(t.Context(), "the report", at(t, 5, 0), "Ada", "rebuilt"))
		w.recordsAre(2)
	})
}
