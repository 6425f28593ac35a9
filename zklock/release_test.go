package zklock_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The holder calls Unlock while no server can be reached. It is told that the
// release is not proven, ownership ends all the same, and the node goes as soon
// as the link is back, so that nobody waits for a session timeout.
func TestAnUnlockInAnOutageIsCarriedOutWhenTheLinkIsBack(t *testing.T) {
	for claim, fault := range map[string]struct{ begin, end func(of *zktest.Target) }{
		"Refused": {
			begin: func(of *zktest.Target) { of.Refuse(true); of.Cut() },
			end:   func(of *zktest.Target) { of.Refuse(false) },
		},
		"Frozen": { // nobody notices that the link is gone
			begin: func(of *zktest.Target) { of.Freeze(zktest.BothWays) },
			end:   func(of *zktest.Target) { of.Unfreeze() },
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
				h := s.lock(s.mutex(a), s.Timeout)
				session, of := s.Session(a), s.Of(a)
				next := s.locking(s.Ctx, s.mutex(b))
				require.False(s.T, next.returned())
				file.admits(h)

				fault.begin(of)
				ctx, cancel := context.WithTimeout(s.Ctx, time.Second)
				defer cancel()
				err := h.Unlock(ctx)
				require.ErrorIs(s.T, err, context.DeadlineExceeded)
				require.ErrorContains(s.T, err, s.Path)
				require.ErrorIs(s.T, context.Cause(h.Context()), zklock.ErrReleased, "ownership ends when Unlock starts")
				require.Equal(s.T, zklock.Releasing, h.State())
				s.Pass(time.Second)
				require.False(s.T, next.returned(), "the node is still there")

				fault.end(of)
				got := s.granted(next, 2*time.Second)
				require.NoError(s.T, h.Unlock(s.Ctx), "the release is proven by now")
				require.Equal(s.T, session, s.Session(a), "the node did not go with its session")
				file.admits(got)
				file.refuses(h)
			})
		})
	}
}

// The first Unlock failed: its context had ended, or the answer never came. It
// had noted that the lock was released, and so a second one did nothing: the node
// stood until the session ended.
func TestAnUnlockThatFailedIsNotForgotten(t *testing.T) {
	lost := map[string]func(of *zktest.Target){
		"Slow":                   func(*zktest.Target) {},
		"TheAnswerIsLost":        func(of *zktest.Target) { of.DropReply(zktest.OpDelete, 1) },
		"TheRequestIsLost":       func(of *zktest.Target) { of.DropRequest(zktest.OpDelete, 1) },
		"EitherIsLostManyTimes":  func(of *zktest.Target) { of.DropRequest(zktest.OpDelete, 3); of.DropReply(zktest.OpDelete, 3) },
		"TheConnectionIsLostToo": func(of *zktest.Target) { of.DropReply(zktest.OpDelete, 1); of.DropReply(zktest.OpCreateSession, 2) },
	}
	for claim, fault := range lost {
		t.Run("ItsContextHadEnded/"+claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
				h := s.lock(s.mutex(a), s.Timeout)
				session, of := s.Session(a), s.Of(a)
				next := s.locking(s.Ctx, s.mutex(b))
				file.admits(h)
				first := make(chan struct{}) // the delete waits until the first Unlock has failed
				failed := sync.OnceFunc(func() { close(first) })
				s.T.Cleanup(failed)
				of.At(zktest.OpDelete, func(zktest.Request) { <-first })
				fault(of)

				ctx, cancel := context.WithCancel(s.Ctx)
				cancel()
				err := h.Unlock(ctx)
				require.ErrorIs(s.T, err, context.Canceled)
				require.ErrorContains(s.T, err, s.Path)
				require.ErrorIs(s.T, context.Cause(h.Context()), zklock.ErrReleased, "ownership ends when Unlock starts")
				require.LessOrEqual(s.T, h.Remaining(), time.Duration(0))
				require.Equal(s.T, zklock.Releasing, h.State())
				require.Len(s.T, s.Nodes(), 2)
				require.False(s.T, next.returned())

				failed()
				s.released(h, of)
				require.Equal(s.T, session, s.Session(a), "the node did not go with its session")
				file.admits(s.granted(next, 2*time.Second))
				file.refuses(h)
				require.NoError(s.T, h.Unlock(s.Ctx))
			})
		})

		t.Run("ItsContextIsGood/"+claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
				h := s.lock(s.mutex(a), s.Timeout)
				of := s.Of(a)
				next := s.locking(s.Ctx, s.mutex(b))
				file.admits(h)
				fault(of)
				s.released(h, of)
				file.admits(s.granted(next, 2*time.Second))
				file.refuses(h)
			})
		})
	}
}

// released unlocks, and asks that the very node of h is gone by then and that a
// server has said so, if only by not finding it.
func (s *scene) released(h *zklock.Hold, of *zktest.Target) {
	s.T.Helper()
	node := h.Internal().Node
	ctx, cancel := context.WithTimeout(s.Ctx, s.Timeout)
	defer cancel()
	require.NoError(s.T, h.Unlock(ctx))
	require.False(s.T, s.Operator.Exists(node))
	var deletes []zktest.Request
	for _, r := range of.Requests() {
		if r.Op == zktest.OpDelete {
			require.Equal(s.T, node, r.Path)
			deletes = append(deletes, r)
		}
	}
	require.NotEmpty(s.T, deletes)
	last := deletes[len(deletes)-1]
	require.True(s.T, last.Answered)
	took := func(r zktest.Request) bool { return r.Answered && r.Err == wire.OK }
	if slices.ContainsFunc(deletes[:len(deletes)-1], took) {
		require.Equal(s.T, wire.NoNode, last.Err, "what an earlier delete did is not known, and not done again")
		return
	}
	require.Equal(s.T, wire.OK, last.Err)
}
