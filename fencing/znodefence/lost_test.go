package znodefence_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zktest"
)

// The multi is committed, or was never heard of, and its sender cannot know.
func TestALostMultiIsFoundOut(t *testing.T) {
	for name, lose := range map[string]func(*world){
		"Reply":   func(w *world) { w.ours().DropReply(zktest.OpMulti, 1) },
		"Request": func(w *world) { w.ours().DropRequest(zktest.OpMulti, 1) },
		"ReplyAndSession": func(w *world) {
			w.ours().AtReply(zktest.OpMulti, func(r zktest.Request) { require.NoError(t, w.Expire(r.Session)) })
			w.ours().DropReply(zktest.OpMulti, 1)
		},
		"RequestAndSession": func(w *world) {
			w.ours().At(zktest.OpMulti, func(r zktest.Request) { require.NoError(t, w.Expire(r.Session)) })
			w.ours().DropRequest(zktest.OpMulti, 1)
		},
		"ThreeReplies": func(w *world) { w.ours().DropReply(zktest.OpMulti, 3) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			require.NoError(t, w.write(at(t, 10, 1), "first"))
			lose(w)
			require.NoError(t, w.write(at(t, 10, 2), "second"))
			w.reportIs("empty first second")
			w.lastIs(at(t, 10, 2))
			require.ErrorIs(t, w.write(at(t, 10, 2), "second"), fencing.ErrDuplicate)
			w.reportIs("empty first second")
		})
	}
}

// With a floor that is raised, a raise and an override it is the same.
func TestALostRaiseIsFoundOut(t *testing.T) {
	w := newWorld(t)
	for range 2 {
		w.ours().DropReply(zktest.OpMulti, 1)
		require.NoError(t, w.guard.Raise(t.Context(), "the report", at(t, 10, 0).Token))
		w.lastIs(at(t, 10, 0))
	}
	w.ours().Heal()
	w.ours().DropReply(zktest.OpMulti, 1)
	require.NoError(t, w.write(at(t, 20, 1), "raised on sight"))
	w.ours().DropReply(zktest.OpMulti, 1)
	require.NoError(t, w.guard.Override(t.Context(), "the report", at(t, 5, 0), "Ada", "rebuilt"))
	records, err := w.guard.Overrides(t.Context(), "the report")
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, at(t, 20, 1), records[0].From)
	w.lastIs(at(t, 5, 0))
}

// Between a guard's look at the memory and its write, another owner raises the floor.
func TestAFloorThatIsOvertakenIsJudgedAgain(t *testing.T) {
	for other, want := range map[uint64]error{15: nil, 25: fencing.ErrStale} {
		w := newWorld(t)
		require.NoError(t, w.write(at(t, 10, 1), "first"))
		_, another := w.another()
		raised := make(chan error, 1)
		w.ours().At(zktest.OpMulti, func(zktest.Request) {
			raised <- another.Raise(t.Context(), "the report", at(t, other, 0).Token)
		})
		err := w.guard.Raise(t.Context(), "the report", at(t, 20, 0).Token)
		require.NoError(t, <-raised)
		require.ErrorIs(t, err, want)
		w.lastIs(at(t, max(20, other), 0))
	}
}

// The caller cannot wait for the connection.
func TestAContextThatEndsAfterTheSendLeavesAnUnknownOutcome(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	ctx, cancel := context.WithCancel(t.Context())
	w.ours().AtReply(zktest.OpMulti, func(zktest.Request) { cancel() })
	w.ours().DropReply(zktest.OpMulti, 1)
	err := w.publish(ctx, w.guard, nil, at(t, 10, 2), "second", nil)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, w.write(at(t, 10, 2), "second"), fencing.ErrDuplicate, "found out with the same Stamp")
	w.reportIs("empty first second")

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	err = w.publish(ended, w.guard, nil, at(t, 10, 3), "third", nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, "nothing was sent")
}

// Applied, its answer lost, and a newer owner has come by the time somebody looks: to
// say "stale" alone would say that it was not applied.
func TestALostMultiUnderANewerOwnerIsUnknown(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.write(at(t, 10, 1), "first"))
	_, newer := w.another()
	answered := make(chan error, 1)
	w.ours().AtReply(zktest.OpMulti, func(zktest.Request) {
		// The old owner's command has been applied, and its answer stands still.
		answered <- w.publish(t.Context(), newer, nil, at(t, 20, 1), "newer", nil)
	})
	w.ours().DropReply(zktest.OpMulti, 1)
	err := w.write(at(t, 10, 2), "second")
	require.NoError(t, <-answered)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, fencing.ErrStale)
	w.reportIs("empty first second newer")
}

func TestAHoldThatIsLostBetweenReadAndWriteChangesNothing(t *testing.T) {
	for name, lose := range map[string]func(*world, string){
		"Deleted": func(w *world, node string) { require.NoError(w, w.Delete(node)) },
		"Expired": func(w *world, node string) {
			_, stat, err := w.Get(node)
			require.NoError(w, err)
			require.NoError(w, w.Expire(stat.EphemeralOwner))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.lock()
			require.NoError(t, w.publish(t.Context(), w.guard, h, h.Next(), "first", nil))
			s := h.Next()
			err := w.publish(t.Context(), w.guard, h, s, "second", func() { lose(w, w.node()) })
			require.ErrorIs(t, err, znodefence.ErrOwnerGone)
			require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			w.reportIs("empty first")
			w.lastIs(fencing.Stamp{Token: h.Token(), Seq: 1})
			require.ErrorIs(t, w.publish(t.Context(), w.guard, h, s, "second", nil), znodefence.ErrOwnerGone)
			w.reportIs("empty first")

			next := w.lock()
			require.NoError(t, w.guard.Raise(t.Context(), "the report", next.Token()))
			require.ErrorIs(t, w.publish(t.Context(), w.guard, h, s, "second", nil), fencing.ErrStale)
			require.NoError(t, w.publish(t.Context(), w.guard, next, next.Next(), "next", nil))
			w.reportIs("empty first next")
		})
	}
}

// The lock is gone by the time of the second try; what became of the first must be
// told all the same.
func TestALostMultiOfAnOwnerThatIsGoneIsFoundOut(t *testing.T) {
	for name, applied := range map[string]bool{"Applied": true, "NotApplied": false} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			h := w.lock()
			require.NoError(t, w.publish(t.Context(), w.guard, h, h.Next(), "first", nil))
			node := w.node()
			if applied {
				w.ours().AtReply(zktest.OpMulti, func(zktest.Request) { require.NoError(t, w.Delete(node)) })
				w.ours().DropReply(zktest.OpMulti, 1)
			} else {
				w.ours().At(zktest.OpMulti, func(zktest.Request) { require.NoError(t, w.Delete(node)) })
				w.ours().DropRequest(zktest.OpMulti, 1)
			}
			err := w.publish(t.Context(), w.guard, h, h.Next(), "second", nil)
			if applied {
				require.NoError(t, err)
				w.reportIs("empty first second")
			} else {
				require.ErrorIs(t, err, znodefence.ErrOwnerGone)
				require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
				w.reportIs("empty first")
			}
		})
	}
}

// A follower that lags shows an old memory. It may be believed in nothing that lets
// a command through.
func TestALaggingMemoryLetsNothingThrough(t *testing.T) {
	e := zktest.NewEnsemble(t, 3)
	leader, err := e.AwaitLeader(t.Context())
	require.NoError(t, err)
	require.NoError(t, leader.Create(report, []byte("empty")))
	w := &world{T: t, Server: leader}
	_, newer := w.another()
	lagging := e.Followers()[0]
	w.Server = lagging
	w.client, w.guard = w.another()
	require.NoError(t, w.write(at(t, 10, 1), "first"))

	e.Lag(lagging, time.Second)
	w.Server = leader
	require.NoError(t, w.publish(t.Context(), newer, nil, at(t, 20, 1), "newer", nil))
	w.lastIs(at(t, 10, 1)) // as the follower has it
	w.ran = 0
	require.ErrorIs(t, w.write(at(t, 10, 2), "late"), fencing.ErrStale)
	require.Positive(t, w.ran, "it was let run, and its write refused")
	w.reportIs("empty first newer")
}
