package zklock_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// guidLen is the length of what all nodes of one GUID begin with.
const guidLen = len("_c_") + 36

// line is the queue as an observer reads it.
func (s *scene) line(m *zklock.Mutex) []zklock.Contender {
	s.T.Helper()
	got, err := m.Queue(s.Ctx)
	require.NoError(s.T, err)
	return got
}

// holds asks that the first in line is the node of h on the present session of
// c, and that h's token is that very node's.
func (s *scene) holds(m *zklock.Mutex, c *zkconn.Client, h *zklock.Hold) {
	s.T.Helper()
	line := s.line(m)
	require.NotEmpty(s.T, line)
	require.Equal(s.T, s.Session(c), line[0].Session, "the first in line is another session's: %v", line)
	require.Equal(s.T, h.Token().Uint64(), line[0].Epoch, "the token is another node's: %v", line)
	require.Equal(s.T, zklock.Held, h.State())
}

// waitsFor waits until a client has been answered a read of a child, which is
// how a waiter watches the one ahead of it.
func (s *scene) waitsFor(of *zktest.Target, child string) {
	s.T.Helper()
	s.Eventually(s.Timeout, func() bool {
		return slices.ContainsFunc(of.Requests(), func(r zktest.Request) bool {
			return r.Op == zktest.OpGetData && r.Path == s.Path+"/"+child && r.Answered
		})
	}, "a read of "+child)
}

// A node with our GUID stood in the directory, and was taken for ours by its
// name. It was another session's: the lock was held by a client whose end
// somebody else's session decided about, and nobody told it.
func TestANodeWithOurNameOnAnotherSessionIsNeverOurs(t *testing.T) {
	for claim, times := range map[string]int{"One": 1, "Three": 3} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				require.NoError(s.T, s.Operator.Create(s.Path, nil))
				a, observer, file := s.Dial("a"), s.mutex(s.Dial("observer")), s.protects()
				session, of := s.Session(a), s.Of(a)
				of.Steal(times)
				r := s.locking(s.Ctx, s.mutex(a))
				s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == times+1 }, "a node of its own, behind the ghosts")

				line := s.line(observer)
				for i, c := range line {
					require.Equal(s.T, line[0].Node[:guidLen], c.Node[:guidLen], "all carry one GUID")
					require.Equal(s.T, i == times, c.Session == session, "%v", line)
				}
				for i := times - 1; i >= 0; i-- {
					// Behind each of them in turn, so that none was passed over.
					s.waitsFor(of, line[i].Node)
					require.False(s.T, r.returned())
					require.NoError(s.T, s.Operator.Delete(s.Path+"/"+line[i].Node))
				}
				h := s.granted(r, 2*time.Second)
				s.holds(observer, a, h)
				require.Equal(s.T, line[times].Epoch, h.Token().Uint64())
				file.admits(h)
				require.NoError(s.T, h.Unlock(s.Ctx))
				require.Empty(s.T, s.Nodes())
			})
		})
	}
}

// The answer to the create was lost, and before the client could ask the session
// was over. The search went on under the next session, by name.
func TestALostCreateOfAnExpiredSessionIsNothingToTheNext(t *testing.T) {
	everywhere(t, func(s *scene) {
		require.NoError(s.T, s.Operator.Create(s.Path, nil))
		a, b, observer, file := s.Dial("a"), s.Dial("b"), s.mutex(s.Dial("observer")), s.protects()
		old, of := s.Session(a), s.Of(a)
		of.At(zktest.OpCreate, func(zktest.Request) { of.Refuse(true) })
		of.DropReply(zktest.OpCreate, 1)
		r := s.locking(s.Ctx, s.mutex(a))
		ghost := s.Nodes()[0]
		next := s.locking(s.Ctx, s.mutex(b))
		require.False(s.T, next.returned())

		require.NoError(s.T, s.Expire(old))
		hb := s.granted(next, 2*time.Second)
		file.admits(hb)
		of.Refuse(false)
		s.Eventually(2*time.Second, func() bool { return len(s.Nodes()) == 2 }, "a node on the new session")
		require.NotEqual(s.T, old, s.Session(a))
		line := s.line(observer)
		require.Equal(s.T, s.Session(a), line[1].Session)
		require.NotEqual(s.T, ghost[:guidLen], line[1].Node[:guidLen], "a new session is a new contender")
		s.waitsFor(s.Of(a), line[0].Node)
		require.False(s.T, r.returned())

		require.NoError(s.T, hb.Unlock(s.Ctx))
		h := s.granted(r, 2*time.Second)
		s.holds(observer, a, h)
		file.admits(h)
		file.refuses(hb)
	})
}

// The same, but the old session is alive: a server handed out another one and
// never said that the first was over. Its node is there to be found, and goes
// when nobody expects it.
func TestALostCreateOfAReplacedSessionIsWaitedFor(t *testing.T) {
	everywhere(t, func(s *scene) {
		require.NoError(s.T, s.Operator.Create(s.Path, nil))
		a, observer, file := s.Dial("a"), s.mutex(s.Dial("observer")), s.protects()
		old, of := s.Session(a), s.Of(a)
		of.DropReply(zktest.OpCreate, 1)
		of.NewSession(1)
		r := s.locking(s.Ctx, s.mutex(a))
		s.Eventually(s.Timeout, func() bool { return r.returned() || len(s.Nodes()) == 2 }, "a node on the new session")
		line := s.line(observer)
		require.Len(s.T, line, 2)
		require.Equal(s.T, old, line[0].Session)
		require.Equal(s.T, s.Session(a), line[1].Session)
		require.NotEqual(s.T, line[0].Node[:guidLen], line[1].Node[:guidLen])
		s.waitsFor(s.Of(a), line[0].Node)
		require.False(s.T, r.returned())

		h := s.granted(r, 2*s.Timeout) // the old session has a whole timeout to live
		s.holds(observer, a, h)
		require.Len(s.T, s.Nodes(), 1, "granted beside the ghost")
		file.admits(h)
	})
}
