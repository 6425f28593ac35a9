package zklock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// requireStands fails the test unless h is well within the time given, and still
// the hold that it was.
func requireStands(s *scene, h *zklock.Hold, within time.Duration, node string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, within)
	defer cancel()
	require.NoError(s.T, h.Ready(ctx, 0))
	require.NoError(s.T, h.Context().Err())
	require.Contains(s.T, s.Nodes(), node)
}

// handshakes has every handshake of the holder's client look at the hold: between
// a connection and the next it must be Suspect, and nothing worse.
func handshakes(s *scene, h *zklock.Hold, of *zktest.Target) <-chan zklock.State {
	seen := make(chan zklock.State, 1000)
	s.T.Cleanup(of.OnRequest(func(r zktest.Request) {
		if r.Op == zktest.OpCreateSession {
			seen <- h.State()
		}
	}))
	return seen
}

// A network that drops connections, or a load balancer that closes them, moved
// the leader at each blip: every time the whole service stopped and started.
func TestFiftyBlipsMoveNobody(t *testing.T) {
	everywhere(t, func(s *scene) {
		a := s.Dial("a")
		h := s.lock(s.mutex(a), s.Timeout)
		node := s.Nodes()[0]
		token, of, file := h.Token(), s.Of(a), s.protects()
		next := s.locking(s.Ctx, s.mutex(s.Dial("b")))
		seen := handshakes(s, h, of)
		for range 50 {
			of.Cut()
			select {
			case state := <-seen:
				require.Equal(s.T, zklock.Suspect, state)
			case <-time.After(s.Timeout / 2):
				require.FailNow(s.T, "no reconnect")
			}
			if !s.Real { // there the next one comes as soon as it stands
				s.Pass(200 * time.Millisecond)
			}
			requireStands(s, h, s.Timeout/2, node)
			file.admits(h)
		}
		require.Equal(s.T, zklock.Held, h.State())
		require.Equal(s.T, token, h.Token())
		require.False(s.T, next.returned())
		require.NoError(s.T, h.Unlock(s.Ctx))
		require.Positive(s.T, s.granted(next, s.Timeout).Token().Compare(token))
	})
}

// The server is restarted, by hand or by its supervisor, and is back within two
// seconds of a session of ten.
func TestARestartOfTheServerMovesNobody(t *testing.T) {
	everywhere(t, func(s *scene) {
		s.Timeout = 10 * time.Second
		a := s.Dial("a")
		h := s.lock(s.mutex(a), s.Timeout)
		node := s.Nodes()[0]
		token := h.Token()
		next := s.locking(s.Ctx, s.mutex(s.Dial("b")))

		s.Refuse(true)
		s.Cut()
		s.Eventually(time.Second, func() bool { return h.State() == zklock.Suspect }, "the holder is Suspect")
		require.Positive(s.T, h.Remaining(), "it is not known to be over")
		s.Pass(2 * time.Second)
		require.Equal(s.T, zklock.Suspect, h.State())
		s.Refuse(false)
		requireStands(s, h, s.Timeout/4, node)
		require.Equal(s.T, token, h.Token())
		require.False(s.T, next.returned())
		require.NoError(s.T, h.Unlock(s.Ctx))
		require.Positive(s.T, s.granted(next, s.Timeout).Token().Compare(token))
	})
}

// A server that stands still, in a long garbage collection or while its disk
// does, keeps every connection open. Its sessions do not age meanwhile, and the
// hold must not be given up before they could.
func TestAServerThatStandsStillMovesNobody(t *testing.T) {
	virtually(t, func(s *scene) {
		s.Timeout = 10 * time.Second
		server := s.Operator.(*zktest.Server)
		h := s.lock(s.mutex(s.Dial("a")), s.Timeout)
		node := s.Nodes()[0]
		token := h.Token()
		for _, still := range []time.Duration{2 * time.Second, 4 * time.Second} {
			s.Pass(s.Timeout)
			server.Stall(true)
			s.Pass(still)
			if still > s.Timeout/4 {
				require.Equal(s.T, zklock.Suspect, h.State(), "no proof for more than a quarter of the timeout")
			}
			server.Stall(false)
			requireStands(s, h, s.Timeout/4, node)
			require.Equal(s.T, token, h.Token())
		}
	})
}
