package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// A waiter's node went, with its session or by an operator's hand, and it waited
// on: for ever, since nobody was behind a node that was not there; or until the
// one ahead left, and then it held the lock without a node, beside whoever came
// next.
func TestAWaiterWithoutANodeQueuesAgainOrLeaves(t *testing.T) {
	for _, c := range []struct {
		claim           string
		outage          bool
		deleted         bool // by an operator
		expired         bool
		free            bool // the lock is released before the waiter is back
		queuedOrEvicted error
	}{
		{claim: "ExpiredQueuesAgain", expired: true},
		{claim: "ExpiredInAnOutageQueuesAgain", outage: true, expired: true},
		{claim: "DeletedIsEvicted", deleted: true, queuedOrEvicted: zklock.ErrEvicted},
		{claim: "DeletedInAnOutageIsEvicted", outage: true, deleted: true, queuedOrEvicted: zklock.ErrEvicted},
		{claim: "DeletedInAnOutageIsEvictedThoughNobodyIsAhead", outage: true, deleted: true, free: true, queuedOrEvicted: zklock.ErrEvicted},
		{claim: "DeletedThenExpiredInAnOutageQueuesAgain", outage: true, deleted: true, expired: true},
		{claim: "ExpiredInAnOutageIsGrantedOnTheNextSessionWithNobodyAhead", outage: true, expired: true, free: true},
	} {
		t.Run(c.claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, observer, file := s.Dial("a"), s.Dial("b"), s.mutex(s.Dial("observer")), s.protects()
				h := s.lock(s.mutex(a), s.Timeout)
				file.admits(h)
				session, of := s.Session(b), s.Of(b)
				m := s.mutex(b)
				r := s.locking(s.Ctx, m)
				s.waitsFor(of, s.line(observer)[0].Node)
				node := s.Path + "/" + s.line(observer)[1].Node

				if c.outage {
					of.Refuse(true)
					of.Cut()
				}
				if c.deleted {
					require.NoError(s.T, s.Operator.Delete(node))
				}
				if c.expired {
					require.NoError(s.T, s.Expire(session))
				}
				if c.free {
					require.NoError(s.T, h.Unlock(s.Ctx))
				}
				if c.outage {
					s.Pass(s.Timeout / 8)
					require.False(s.T, r.returned())
					require.Equal(s.T, !c.free, len(s.Nodes()) == 1)
					of.Refuse(false)
				}

				within := 2 * time.Second // of the reconnect
				if s.Real {
					// A handshake that a loaded machine answers too late is given up, after a
					// sixth of the timeout, or a third for a new session, and made again.
					within = s.Timeout
				}
				if c.queuedOrEvicted != nil {
					s.Ended(r.done, within, "neither queued again nor evicted")
					require.ErrorIs(s.T, r.err, c.queuedOrEvicted)
					require.ErrorContains(s.T, r.err, s.Path)
					require.Nil(s.T, r.hold)
					require.Equal(s.T, session, s.Session(b))
					require.Equal(s.T, !c.free, len(s.Nodes()) == 1)
					r = s.locking(s.Ctx, m)
				} else {
					contenders := 2
					if c.free {
						contenders = 1
					}
					s.Eventually(within, func() bool { return len(s.Nodes()) == contenders }, "queued again")
					require.NotEqual(s.T, session, s.Session(b))
				}
				if !c.free {
					line := s.line(observer)
					require.Equal(s.T, s.Session(b), line[1].Session)
					require.NotEqual(s.T, node[:len(s.Path)+1+guidLen], s.Path+"/"+line[1].Node[:guidLen], "another attempt is another contender")
					s.waitsFor(s.Of(b), line[0].Node)
					require.False(s.T, r.returned())
					file.admits(h)
					require.NoError(s.T, h.Unlock(s.Ctx))
				}
				got := s.granted(r, within)
				s.holds(observer, b, got)
				file.admits(got)
				file.refuses(h)
			})
		})
	}

	// It is not the one ahead that a waiter hears of first, but its own node.
	t.Run("TheNewsIsItsOwnNodes", func(t *testing.T) {
		virtually(t, func(s *scene) {
			a, b := s.Dial("a"), s.Dial("b")
			h := s.lock(s.mutex(a), s.Timeout)
			r := s.locking(s.Ctx, s.mutex(b))
			s.waitsFor(s.Of(b), s.Nodes()[0])
			server := s.Operator.(*zktest.Server)
			before := s.Of(b).Count(zktest.AnyOp)
			for _, child := range server.Children(s.Path) {
				if s.Path+"/"+child != h.Internal().Node {
					require.NoError(s.T, server.Delete(s.Path+"/"+child))
				}
			}
			s.Ended(r.done, s.slack(), "not evicted")
			require.ErrorIs(s.T, r.err, zklock.ErrEvicted)
			s.Pass(s.slack())
			require.LessOrEqual(s.T, s.Of(b).Count(zktest.AnyOp)-before, 2, "a proof, and the delete of a node that may be there")
			require.NoError(s.T, h.Context().Err())
		})
	})
}
