package znodefence_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zktest"
)

var errSibling = errors.New("a sibling has failed")

// causes are what an errgroup's other members have been answered.
func causes(t *testing.T) map[string]error {
	duplicate := &fencing.StaleError{Resource: "another", Presented: at(t, 7, 1), Highest: at(t, 7, 1)}
	causes := map[string]error{
		"Refusal": zk.ErrNoNode, "NotSent": zk.ErrNoServer, "Duplicate": duplicate,
		"Write":     &znodefence.WriteError{Path: "/another", Err: zk.ErrBadVersion},
		"OwnerGone": znodefence.ErrOwnerGone, "NotRead": znodefence.ErrNotRead,
	}
	for name, cause := range causes {
		causes[name] = fmt.Errorf("%w: %w", errSibling, cause)
	}
	causes["Bare"] = duplicate
	return causes
}

func (w *world) noVerdict(err error) {
	w.Helper()
	for _, verdict := range []error{
		zk.ErrNoNode, zk.ErrBadVersion, zk.ErrNoServer, fencing.ErrStale, fencing.ErrDuplicate, fencing.ErrSuperseded,
		znodefence.ErrOwnerGone, znodefence.ErrNotRead,
	} {
		require.NotErrorIs(w, err, verdict)
	}
	var refused *znodefence.WriteError
	require.NotErrorAs(w, err, &refused)
	var stale *fencing.StaleError
	require.NotErrorAs(w, err, &stale)
}

// An errgroup ends its context with what a sibling was answered. Taken for the server's
// word about the multi that was on its way, it said that nothing was applied nor would
// be: the command was issued anew with the next Stamp, and applied twice.
func TestTheCauseOfAContextIsNoVerdict(t *testing.T) {
	for name, cause := range causes(t) {
		t.Run("OnItsWay/"+name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			ctx, cancel := context.WithCancelCause(t.Context())
			release, judged := make(chan struct{}), make(chan struct{})
			arrive := sync.OnceFunc(func() { close(release) })
			w.Cleanup(arrive) // the server waits for its hooks
			ours := w.ours()
			ours.At(zktest.OpMulti, func(zktest.Request) { cancel(cause); <-release })
			ours.AtReply(zktest.OpMulti, func(zktest.Request) { close(judged) })
			err := w.publish(ctx, w.guard, nil, at(t, 10, 2), "second", nil)
			require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
			require.ErrorContains(t, err, cause.Error())
			w.noVerdict(err)
			w.reportIs("empty first")
			arrive()
			<-judged
			w.reportIs("empty first second")
		})
		t.Run("LostAnswer/"+name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			ctx, cancel := context.WithCancelCause(t.Context())
			ours := w.ours()
			ours.AtReply(zktest.OpMulti, func(zktest.Request) {
				ours.At(zktest.OpGetData, func(zktest.Request) { cancel(cause) }) // as it looks what became of it
				ours.DropRequest(zktest.OpGetData, 1)
			})
			ours.DropReply(zktest.OpMulti, 1)
			err := w.publish(ctx, w.guard, nil, at(t, 10, 2), "second", nil)
			require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
			w.noVerdict(err)
			w.reportIs("empty first second")
		})
		t.Run("NothingSent/"+name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			// A function that goes on though its context has ended.
			ctx, cancel := context.WithCancelCause(t.Context())
			var seen error
			err := w.guard.Do(ctx, znodefence.Command{Resource: "the report", Stamp: at(t, 10, 2)}, func(ctx context.Context, tx *znodefence.Tx) error {
				cancel(cause)
				_, _, seen = tx.Get(ctx, report)
				tx.Create("/other", nil, nil)
				return nil
			})
			w.noVerdict(seen)
			w.noVerdict(err)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			require.ErrorContains(t, err, cause.Error())

			for what, err := range map[string]error{
				"Do":    w.publish(ctx, w.guard, nil, at(t, 10, 2), "second", nil),
				"Raise": w.guard.Raise(ctx, "the report", at(t, 20, 0).Token),
			} {
				w.noVerdict(err)
				require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, what)
				if name != "Bare" {
					require.ErrorIs(t, err, errSibling, what)
				}
			}
			_, err = w.guard.Last(ctx, "the report")
			w.noVerdict(err)
			_, err = w.guard.Overrides(ctx, "the report")
			w.noVerdict(err)
			w.reportIs("empty first")
		})
	}
}

// It says that nothing was sent, and why.
func TestAPlainCauseStaysWhatItIs(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithTimeout(t.Context(), -time.Second)
	defer cancel()
	err := w.publish(ctx, w.guard, nil, at(t, 10, 1), "first", nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	var timeout interface{ Timeout() bool }
	require.ErrorAs(t, err, &timeout)
	require.True(t, timeout.Timeout())
}
