package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The leader resigns while no server can be reached. It is told that this is not
// proven, its term ends all the same, and the node goes as soon as the link is
// back, so that nobody waits for a session timeout.
func TestAResignInAnOutageIsCarriedOutWhenTheLinkIsBack(t *testing.T) {
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
				c, a := s.candidate("a")
				_, b := s.candidate("b")
				ledger := stage.NewLedger()
				term := s.lead(a)
				session, of := s.Session(c), s.Of(c)
				standby := s.stands(s.Ctx, b)
				require.NoError(s.T, ledger.Write(s.Ctx, term.Next()))

				fault.begin(of)
				ctx, cancel := context.WithTimeout(s.Ctx, time.Second)
				defer cancel()
				err := term.Resign(ctx)
				require.ErrorIs(s.T, err, context.DeadlineExceeded)
				require.ErrorContains(s.T, err, s.Path)
				require.ErrorIs(s.T, context.Cause(term.Context()), zklock.ErrReleased, "the term ends when Resign starts")
				require.Equal(s.T, zklock.Releasing, term.State())
				s.Pass(time.Second)
				require.False(s.T, standby.returned(), "the node is still there")

				fault.end(of)
				next := s.won(standby, 2*time.Second)
				require.NoError(s.T, term.Resign(s.Ctx), "the release is proven by now")
				require.Equal(s.T, session, s.Session(c), "the node did not go with its session")
				require.NoError(s.T, ledger.Write(s.Ctx, next.Next()))
				require.ErrorIs(s.T, ledger.Write(s.Ctx, term.Next()), fencing.ErrStale)
				require.NoError(s.T, ledger.Broken())
				require.NoError(s.T, next.Resign(s.Ctx))
			})
		})
	}
}

// lead returns while no server can be reached. Run is through within a session
// timeout, and what is left to do is done when the link is back.
func TestARunThatEndsInAnOutageReturnsAndResignsLater(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, a := s.candidate("a")
		_, b := s.candidate("b")
		run := s.runs(s.Ctx, a)
		r := run.begins(s.Timeout)
		session, of := s.Session(c), s.Of(c)
		standby := s.stands(s.Ctx, b)
		of.Refuse(true)
		of.Cut()
		r.answer <- nil
		s.Pass(s.Timeout / 3)
		require.False(s.T, standby.returned())
		of.Refuse(false)
		next := s.won(standby, 2*time.Second)
		require.NoError(s.T, run.returns(s.Timeout))
		require.Equal(s.T, session, s.Session(c))
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

// The program ends while no server can be reached. Close is as quick as ever and
// the term is over, but the node lives until the session times out: whoever reads
// the error knows why the next one has to wait.
func TestACloseThatReachesNoServerSaysSo(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, a := s.candidate("a")
		_, b := s.candidate("b")
		run := s.runs(s.Ctx, a)
		r := run.begins(s.Timeout)
		standby := s.stands(s.Ctx, b)
		of := s.Of(c)
		of.Refuse(true)
		of.Cut()
		s.Eventually(time.Second, func() bool { return r.term.State() == zklock.Suspect }, "the leader has noticed")
		closed := time.Now()
		require.ErrorContains(s.T, c.Close(s.Ctx), "no server could be told")
		require.Less(s.T, time.Since(closed), s.Timeout/4)
		require.ErrorIs(s.T, context.Cause(r.ctx), zkconn.ErrClosed)
		r.answer <- nil
		require.ErrorIs(s.T, run.returns(s.Timeout/4), zkconn.ErrClosed)
		require.False(s.T, standby.returned())
		next := s.won(standby, s.Timeout+time.Second)
		require.Greater(s.T, standby.at.Sub(closed), s.Timeout/2, "it was the session's timeout that let the next one in")
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

func TestACloseHandsOverInUnderASecond(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, a := s.candidate("a")
		_, b := s.candidate("b")
		run := s.runs(s.Ctx, a)
		r := run.begins(s.Timeout)
		standby := s.stands(s.Ctx, b)
		require.NoError(s.T, c.Close(s.Ctx))
		next := s.won(standby, time.Second)
		r.answer <- nil // it was still running: Close does not wait for users' code
		require.ErrorIs(s.T, run.returns(s.Timeout), zkconn.ErrClosed)
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}
