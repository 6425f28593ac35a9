package znodefence_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zktest"
)

var errPaid = errors.New("paid already")

// underWay sends a command whose multi stands still on its way while its
// caller has given up. land lets it arrive and returns when the server has judged it.
func (w *world) underWay(owner znodefence.Owner, s fencing.Stamp) (land func()) {
	w.Helper()
	release, judged := make(chan struct{}), make(chan struct{})
	arrive := sync.OnceFunc(func() { close(release) })
	w.Cleanup(arrive) // the server waits for its hooks
	ctx, cancel := context.WithCancel(w.Context())
	w.Cleanup(cancel)
	ours := w.ours()
	ours.At(zktest.OpMulti, func(zktest.Request) { cancel(); <-release })
	ours.AtReply(zktest.OpMulti, func(zktest.Request) { close(judged) })
	err := w.publish(ctx, w.guard, owner, s, "second", nil)
	require.ErrorIs(w, err, fencing.ErrUnknownOutcome)
	w.reportIs("empty first")
	return func() { arrive(); <-judged }
}

// retry is the same command from another process; its function fails, after between.
func (w *world) retry(ctx context.Context, s fencing.Stamp, between func()) error {
	_, other := w.another()
	return other.Do(ctx, znodefence.Command{Resource: "the report", Stamp: s}, func(ctx context.Context, tx *znodefence.Tx) error {
		between()
		if _, _, err := tx.Get(ctx, report); err != nil {
			return err
		}
		return errPaid
	})
}

// An owner pays; the multi is on its way, and its answer lost. Its retry reads the
// memory, then the first multi lands, and the retry's function finds the bill paid and
// fails. "Nothing was applied", said of that Stamp, was wrong: somebody else would
// have paid again.
func TestARetryThatFailsBecauseTheFirstTryWasAppliedIsADuplicate(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	land := w.underWay(nil, at(t, 10, 2))
	err := w.retry(t.Context(), at(t, 10, 2), func() {
		if land != nil {
			land()
			land = nil
		}
	})
	require.ErrorIs(t, err, fencing.ErrDuplicate)
	require.NotErrorIs(t, err, errPaid)
	w.reportIs("empty first second")
}

// The same, and the first multi lands after the retry has been told that nothing was
// applied: it must find its version gone.
func TestAFirstTryCannotBeAppliedAfterItsRetryHasFailed(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	land := w.underWay(nil, at(t, 10, 2))
	err := w.retry(t.Context(), at(t, 10, 2), func() {})
	require.ErrorIs(t, err, errPaid)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	land()
	w.reportIs("empty first")
	require.NoError(t, w.write(at(t, 10, 2), "second"))
	w.reportIs("empty first second")
}

// A write that the server refuses, and a lock that is gone by then, fail a retry as its
// function does.
func TestARetryThatIsRefusedIsToldOfTheFirstTry(t *testing.T) {
	t.Run("OwnerGone", func(t *testing.T) {
		w := newWorld(t)
		h := w.lock()
		require.NoError(t, w.publish(t.Context(), w.guard, h, h.Next(), "first", nil))
		s := h.Next()
		land := w.underWay(h, s)
		_, other := w.another()
		err := w.publish(t.Context(), other, h, s, "second", func() {
			if land != nil {
				land()
				land = nil
				require.NoError(t, w.Delete(w.node()))
			}
		})
		require.ErrorIs(t, err, fencing.ErrDuplicate)
		w.reportIs("empty first second")
	})
	t.Run("Write", func(t *testing.T) {
		w := newWorld(t)
		require.NoError(t, w.write(at(t, 10, 1), "first"))
		land := w.underWay(nil, at(t, 10, 2))
		_, other := w.another()
		err := other.Do(t.Context(), znodefence.Command{Resource: "the report", Stamp: at(t, 10, 2)}, func(_ context.Context, tx *znodefence.Tx) error {
			tx.Create(report, nil, nil) // it exists
			return nil
		})
		var refused *znodefence.WriteError
		require.ErrorAs(t, err, &refused)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		land()
		w.reportIs("empty first")
	})
}

// A newer owner comes while the function runs, which fails by what it sees: its owner
// must hear that it has lost.
func TestAFunctionsErrorDoesNotHideARefusal(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	_, newer := w.another()
	err := w.retry(t.Context(), at(t, 10, 2), func() {
		require.NoError(t, newer.Raise(t.Context(), "the report", at(t, 20, 0).Token))
	})
	require.ErrorIs(t, err, fencing.ErrStale)
	require.NotErrorIs(t, err, errPaid)
}

// If its caller cannot wait, nobody has looked what became of an earlier try.
func TestAFunctionsErrorIsUnknownIfNobodyCouldLook(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	ctx, cancel := context.WithCancel(t.Context())
	_, other := w.another()
	err := other.Do(ctx, znodefence.Command{Resource: "the report", Stamp: at(t, 10, 2)}, func(context.Context, *znodefence.Tx) error {
		cancel()
		return errPaid
	})
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, errPaid)
	w.lastIs(at(t, 10, 1))
}
