package zklock_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// afterAProof returns just after the holder's keeper has had an answer, when its
// next question is an eighth of the session timeout away.
func (s *scene) afterAProof(of *zktest.Target) {
	s.T.Helper()
	answered := make(chan struct{})
	of.AtReply(zktest.OpMulti, func(zktest.Request) { close(answered) })
	s.Ended(answered, s.Timeout, "the holder proves nothing")
}

// An operator deletes the holder's node. The lock belongs to the next in line from
// that moment, so the holder is told at once, by the watch on its own node, and
// not when its keeper asks the next time or its session ends.
func TestADeletedNodeIsALossAtOnce(t *testing.T) {
	for claim, prepare := range map[string]func(s *scene, of *zktest.Target){
		"OnTheFirstConnection": func(*scene, *zktest.Target) {},
		"AfterAReconnect": func(s *scene, of *zktest.Target) {
			watched := make(chan struct{})
			of.AtReply(zktest.OpGetData, func(zktest.Request) { close(watched) })
			of.Cut()
			s.Ended(watched, s.Timeout/2, "a holder that has reconnected does not watch its node")
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				o := s.standoff("a", "b")
				require.NoError(s.T, o.resource.Write(s.Ctx, o.hold.Next()))
				prepare(s, o.of)
				s.afterAProof(o.of)
				require.NoError(s.T, s.Operator.Delete(o.node))
				require.Equal(s.T, zklock.NodeDeleted, o.lost(s.Timeout/10))
				s.Ended(o.won, s.Timeout, "the waiter never held")
				require.NoError(s.T, o.err)
				require.Positive(s.T, o.next.Token().Compare(o.hold.Token()))
				require.NoError(s.T, o.resource.Write(s.Ctx, o.next.Next()))
				require.NoError(s.T, o.late())
				require.ErrorIs(s.T, o.hold.Unlock(s.Ctx), zklock.ErrLost)
				require.NoError(s.T, o.next.Context().Err(), "what the old holder does late touches nobody")

				again := s.locking(s.Ctx, s.mutex(o.holder))
				require.False(s.T, again.returned())
				require.NoError(s.T, o.next.Unlock(s.Ctx))
				h := s.granted(again, s.Timeout)
				require.Positive(s.T, h.Token().Compare(o.next.Token()), "a new acquisition has a larger token")
				require.NoError(s.T, o.resource.Write(s.Ctx, h.Next()))
				require.NoError(s.T, o.resource.Broken())
				require.NoError(s.T, h.Unlock(s.Ctx))
			})
		})
	}
}

// An operator deletes the whole directory. Holder and waiter are told; the next
// contender makes it again, where sequence numbers begin at 0 once more. Tokens do
// not.
func TestADeletedDirectoryIsALossAndTokensStillRise(t *testing.T) {
	everywhere(t, func(s *scene) {
		o := s.standoff("a", "b")
		require.NoError(s.T, o.resource.Write(s.Ctx, o.hold.Next()))
		s.afterAProof(o.of)
		// Whoever deletes a directory deletes it until it is gone.
		s.Eventually(s.Timeout, func() bool { return s.Operator.Delete(s.Path) == nil || !s.Operator.Exists(s.Path) }, "the directory's end")
		require.Equal(s.T, zklock.NodeDeleted, o.lost(s.Timeout/10))
		s.Ended(o.won, s.Timeout, "the waiter was not told")
		if o.err == nil {
			// It held for a moment, if the operator's hand reached its node second.
			require.Equal(s.T, zklock.NodeDeleted, s.lost(o.next, s.Timeout/10).Reason)
		} else {
			require.ErrorIs(s.T, o.err, zklock.ErrEvicted)
		}

		h := s.lock(s.mutex(o.holder), s.Timeout)
		nodes := s.Nodes()
		require.Len(s.T, nodes, 1)
		require.True(s.T, strings.HasSuffix(nodes[0], "-lock-0000000000"), "a new directory counts from 0: %s", nodes[0])
		require.Positive(s.T, h.Token().Compare(o.hold.Token()), "a new acquisition has a larger token")
		require.NoError(s.T, o.resource.Write(s.Ctx, h.Next()))
		require.ErrorIs(s.T, o.resource.Write(s.Ctx, o.hold.Next()), fencing.ErrStale)
		require.NoError(s.T, o.resource.Broken())
		require.ErrorIs(s.T, o.hold.Unlock(s.Ctx), zklock.ErrLost)
		require.NoError(s.T, h.Unlock(s.Ctx))
		s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 0 }, "an empty directory")
	})
}

// The holder is cut off when its node is deleted, so nobody can tell it: for a
// while two believe in the lock. The resource is what keeps them apart, and the
// holder is told as soon as it can be.
func TestADeletionDuringAnOutageIsToldAfterItAndFencedMeanwhile(t *testing.T) {
	everywhere(t, func(s *scene) {
		o := s.standoff("a", "b")
		require.NoError(s.T, o.resource.Write(s.Ctx, o.hold.Next()))
		o.of.Refuse(true)
		o.of.Cut()
		require.NoError(s.T, s.Operator.Delete(o.node))
		s.Ended(o.won, s.Timeout/4, "the waiter never held")
		require.NoError(s.T, o.err)
		require.NoError(s.T, o.resource.Write(s.Ctx, o.next.Next()))

		require.NoError(s.T, o.hold.Context().Err(), "nobody can have told it")
		require.Equal(s.T, zklock.Suspect, o.hold.State())
		err := o.resource.Write(s.Ctx, o.hold.Next())
		require.ErrorIs(s.T, err, fencing.ErrStale)
		var stale *fencing.StaleError
		require.True(s.T, errors.As(err, &stale))
		require.Equal(s.T, o.next.Token(), stale.Highest.Token)

		o.of.Refuse(false)
		require.Equal(s.T, zklock.NodeDeleted, o.lost(s.Timeout/4))
		require.NoError(s.T, o.late())
		require.NoError(s.T, o.next.Unlock(s.Ctx))
	})
}
