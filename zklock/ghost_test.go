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
	got, err := m.Queue(s.ctx)
	require.NoError(s.T, err)
	return got
}

// holds asks that the first in line is the node of h on the present session of
// c, and that h's token is that very node's.
func (s *scene) holds(m *zklock.Mutex, c *zkconn.Client, h *zklock.Hold) {
	s.T.Helper()
	line := s.line(m)
	require.NotEmpty(s.T, line)
	require.Equal(s.T, s.session(c), line[0].Session, "the first in line is another session's: %v", line)
	require.Equal(s.T, h.Token().Uint64(), line[0].Epoch, "the token is another node's: %v", line)
	require.Equal(s.T, zklock.Held, h.State())
}

// waitsFor waits until a client has been answered a read of a child, which is
// how a waiter watches the one ahead of it.
func (s *scene) waitsFor(of *zktest.Target, child string) {
	s.T.Helper()
	s.eventually(s.timeout, func() bool {
		return slices.ContainsFunc(of.Requests(), func(r zktest.Request) bool {
			return r.Op == zktest.OpGetData && r.Path == s.path+"/"+child && r.Answered
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
				require.NoError(s.T, s.operator.Create(s.path, nil))
				a, observer, file := s.dial("a"), s.mutex(s.dial("observer")), s.protects()
				session, of := s.session(a), s.of(a)
				of.Steal(times)
				r := s.locking(s.ctx, s.mutex(a))
				s.eventually(s.timeout, func() bool { return len(s.nodes()) == times+1 }, "a node of its own, behind the ghosts")

				line := s.line(observer)
				for i, c := range line {
					require.Equal(s.T, line[0].Node[:guidLen], c.Node[:guidLen], "all carry one GUID")
					require.Equal(s.T, i == times, c.Session == session, "%v", line)
				}
				for i := times - 1; i >= 0; i-- {
					// Behind each of them in turn, so that none was passed over.
					s.waitsFor(of, line[i].Node)
					require.False(s.T, r.returned())
					require.NoError(s.T, s.operator.Delete(s.path+"/"+line[i].Node))
				}
				h := s.granted(r, 2*time.Second)
				s.holds(observer, a, h)
				require.Equal(s.T, line[times].Epoch, h.Token().Uint64())
				file.admits(h)
				require.NoError(s.T, h.Unlock(s.ctx))
				require.Empty(s.T, s.nodes())
			})
		})
	}
}

// The answer to the create was lost, and before the client could ask the session
// was over. The search went on under the next session, by name.
func TestALostCreateOfAnExpiredSessionIsNothingToTheNext(t *testing.T) {
	everywhere(t, func(s *scene) {
		require.NoError(s.T, s.operator.Create(s.path, nil))
		a, b, observer, file := s.dial("a"), s.dial("b"), s.mutex(s.dial("observer")), s.protects()
		old, of := s.session(a), s.of(a)
		of.At(zktest.OpCreate, func(zktest.Request) { of.Refuse(true) })
		of.DropReply(zktest.OpCreate, 1)
		r := s.locking(s.ctx, s.mutex(a))
		ghost := s.nodes()[0]
		next := s.locking(s.ctx, s.mutex(b))
		require.False(s.T, next.returned())

		require.NoError(s.T, s.expire(old))
		hb := s.granted(next, 2*time.Second)
		file.admits(hb)
		of.Refuse(false)
		s.eventually(2*time.Second, func() bool { return len(s.nodes()) == 2 }, "a node on the new session")
		require.NotEqual(s.T, old, s.session(a))
		line := s.line(observer)
		require.Equal(s.T, s.session(a), line[1].Session)
		require.NotEqual(s.T, ghost[:guidLen], line[1].Node[:guidLen], "a new session is a new contender")
		s.waitsFor(s.of(a), line[0].Node)
		require.False(s.T, r.returned())

		require.NoError(s.T, hb.Unlock(s.ctx))
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
		require.NoError(s.T, s.operator.Create(s.path, nil))
		a, observer, file := s.dial("a"), s.mutex(s.dial("observer")), s.protects()
		old, of := s.session(a), s.of(a)
		of.DropReply(zktest.OpCreate, 1)
		of.NewSession(1)
		r := s.locking(s.ctx, s.mutex(a))
		s.eventually(s.timeout, func() bool { return r.returned() || len(s.nodes()) == 2 }, "a node on the new session")
		line := s.line(observer)
		require.Len(s.T, line, 2)
		require.Equal(s.T, old, line[0].Session)
		require.Equal(s.T, s.session(a), line[1].Session)
		require.NotEqual(s.T, line[0].Node[:guidLen], line[1].Node[:guidLen])
		s.waitsFor(s.of(a), line[0].Node)
		require.False(s.T, r.returned())

		h := s.granted(r, 2*s.timeout) // the old session has a whole timeout to live
		s.holds(observer, a, h)
		require.Len(s.T, s.nodes(), 1, "granted beside the ghost")
		file.admits(h)
	})
}
