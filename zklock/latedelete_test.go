package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// A delete that is owed outlives what it was owed for: the directory is deleted
// and made again meanwhile, sequence numbers start from 0 once more, and the node
// that now stands where ours was is the holder's. A delete by sequence number, or
// of all that looks abandoned, lets two in.
func TestALateDeleteTouchesNoStranger(t *testing.T) {
	for _, doubted := range []bool{false, true} {
		claim := "OfAHold"
		if doubted {
			claim = "OfAHoldWhoseCreateWasInDoubt" // swept by GUID as well
		}
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
				session, of := s.Session(a), s.Of(a)
				if doubted {
					require.NoError(s.T, s.Operator.Create(s.Path, nil))
					of.DropReply(zktest.OpCreate, 1)
				}
				h := s.lock(s.mutex(a), s.Timeout)
				file.admits(h)
				ours := h.Internal().Node
				of.At(zktest.OpDelete, func(zktest.Request) { of.Refuse(true) })
				of.DropReply(zktest.OpDelete, 1)
				ctx, cancel := context.WithTimeout(s.Ctx, 300*time.Millisecond)
				defer cancel()
				require.ErrorIs(s.T, h.Unlock(ctx), context.DeadlineExceeded)
				require.Empty(s.T, s.Nodes(), "the delete took effect")

				stranger := s.startOver(b, ours)
				file.admits(stranger)
				of.Refuse(false)
				ctx, cancel = context.WithTimeout(s.Ctx, s.Timeout)
				defer cancel()
				require.NoError(s.T, h.Unlock(ctx), "the sweeper has been through")
				tried := 0
				for _, r := range of.Requests() {
					if r.Op == zktest.OpDelete {
						require.Equal(s.T, ours, r.Path)
						tried++
					}
				}
				require.GreaterOrEqual(s.T, tried, 2)
				require.Equal(s.T, session, s.Session(a))
				s.untouched(stranger)
				file.admits(stranger)
				file.refuses(h)
				require.NoError(s.T, h.Unlock(s.Ctx))
				s.untouched(stranger)
			})
		})
	}

	t.Run("OfACreateThatWasGivenUp", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			require.NoError(s.T, s.Operator.Create(s.Path, nil))
			a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
			of := s.Of(a)
			released := make(chan bool, 1)
			m := s.mutex(a, zklock.WithTrace(&zklock.Trace{Released: func(_ zklock.Attempt, proven bool) { released <- proven }}))
			ctx, cancel := context.WithCancelCause(s.Ctx)
			defer cancel(nil)
			of.DropReply(zktest.OpCreate, 1)
			of.AtReply(zktest.OpCreate, func(zktest.Request) {
				of.Refuse(true)
				cancel(errEnough)
			})
			r := s.locking(ctx, m)
			s.Ended(r.done, time.Second, "Lock has not returned")
			require.ErrorIs(s.T, r.err, errEnough)
			require.Len(s.T, s.Nodes(), 1)

			stranger := s.startOver(b, s.Path+"/"+s.Nodes()[0])
			file.admits(stranger)
			of.Refuse(false)
			select {
			case proven := <-released:
				require.True(s.T, proven)
			case <-time.After(s.Timeout):
				require.FailNow(s.T, "the sweeper has not been through")
			}
			require.Zero(s.T, of.Count(zktest.OpDelete), "there was nothing of ours to delete")
			s.untouched(stranger)
			file.admits(stranger)
		})
	})
}

// startOver deletes the directory, and has c lock in the one that it makes anew:
// its node gets the number that before had.
func (s *scene) startOver(c *zkconn.Client, before string) *zklock.Hold {
	s.T.Helper()
	if s.Operator.Exists(s.Path) {
		// Unless the server has reaped it meanwhile.
		_ = s.Operator.Delete(s.Path)
	}
	require.False(s.T, s.Operator.Exists(s.Path))
	h := s.lock(s.mutex(c), s.Timeout)
	number := func(path string) string { return path[len(path)-10:] }
	require.Equal(s.T, number(before), number(h.Internal().Node), "numbers have started over")
	require.NotEqual(s.T, before, h.Internal().Node)
	return h
}

// untouched asks that a hold stands on its own node, alone.
func (s *scene) untouched(h *zklock.Hold) {
	s.T.Helper()
	require.Len(s.T, s.Nodes(), 1)
	require.True(s.T, s.Operator.Exists(h.Internal().Node))
	require.NoError(s.T, h.Context().Err())
	require.Equal(s.T, zklock.Held, h.State())
}
