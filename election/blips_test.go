package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// requireLeads fails the test unless r's term is well within the time given, and
// still the one that it was.
func requireLeads(s *scene, r *reign, within time.Duration, node string) {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, within)
	defer cancel()
	require.NoError(s.T, r.term.Ready(ctx, 0))
	require.NoError(s.T, r.ctx.Err())
	require.Contains(s.T, s.Nodes(), node)
}

// A network that drops connections moved the leader at each blip: every time the
// whole service stopped and started. The trouble shows as Suspect, and as nothing
// worse.
func TestFiftyBlipsMoveNobody(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, a := s.candidate("a")
		_, b := s.candidate("b")
		run := s.runs(s.Ctx, a)
		r := run.begins(s.Timeout)
		node, token, of := s.Nodes()[0], r.term.Token(), s.Of(c)
		standby := s.stands(s.Ctx, b)
		seen := make(chan zklock.State, 1000)
		s.T.Cleanup(of.OnRequest(func(q zktest.Request) {
			if q.Op == zktest.OpCreateSession {
				seen <- r.term.State()
			}
		}))
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
			requireLeads(s, r, s.Timeout/2, node)
		}
		require.Equal(s.T, zklock.Held, r.term.State())
		require.Equal(s.T, token, r.term.Token())
		require.False(s.T, standby.returned())
		r.answer <- nil
		require.NoError(s.T, run.returns(s.Timeout))
		require.NoError(s.T, s.won(standby, s.Timeout).Resign(s.Ctx))
	})
}

// The server is restarted and back within two seconds of a session of ten.
func TestARestartOfTheServerMovesNobody(t *testing.T) {
	everywhere(t, func(s *scene) {
		s.Timeout = 10 * time.Second
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		run := s.runs(s.Ctx, a)
		r := run.begins(s.Timeout)
		node, token := s.Nodes()[0], r.term.Token()
		standby := s.stands(s.Ctx, b)
		s.Refuse(true)
		s.Cut()
		s.Eventually(time.Second, func() bool { return r.term.State() == zklock.Suspect }, "the leader is Suspect")
		require.Positive(s.T, r.term.Remaining())
		s.Pass(2 * time.Second)
		require.Equal(s.T, zklock.Suspect, r.term.State())
		s.Refuse(false)
		requireLeads(s, r, s.Timeout/4, node)
		require.Equal(s.T, token, r.term.Token())
		require.False(s.T, standby.returned())
		r.answer <- nil
		require.NoError(s.T, run.returns(s.Timeout))
		require.NoError(s.T, s.won(standby, s.Timeout).Resign(s.Ctx))
	})
}
