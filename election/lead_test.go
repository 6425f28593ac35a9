package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// lead does not heed its context for two seconds. Its node stands for as long, so
// that nobody leads beside it, and Run does not return before it.
func TestTheOrderOfAnEnd(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, e := s.candidate("a")
		var said journal[string]
		ctx, cancel := context.WithCancel(s.Ctx)
		began, done := make(chan struct{}), make(chan struct{})
		s.Of(c).At(zktest.OpDelete, func(zktest.Request) { said.write("the node is deleted") })
		go func() {
			defer close(done)
			_ = e.Run(ctx, func(ctx context.Context, t *election.Term) error {
				close(began)
				<-ctx.Done()
				said.write("lead's context has ended")
				s.Pass(2 * time.Second)
				require.NoError(s.T, t.Context().Err())
				said.write("lead returns")
				return nil
			})
			said.write("Run has returned")
		}()
		s.Ended(began, s.Timeout, "never led")
		cancel()
		s.Ended(done, s.Timeout, "Run has not returned")
		require.Equal(s.T, []string{"lead's context has ended", "lead returns", "the node is deleted", "Run has returned"}, said.read())
	})
}

// lead never returns after its loss. It keeps this candidate out, and nobody else,
// and the Client can be closed around it.
func TestALeadThatNeverReturnsKeepsOutItsOwnCandidateAlone(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, e := s.candidate("a")
		_, other := s.candidate("b")
		run := s.runs(s.Ctx, e)
		r := run.begins(s.Timeout)
		standby := s.stands(s.Ctx, other)
		require.NoError(s.T, s.Expire(s.Session(c)))
		term := s.won(standby, s.Timeout)
		s.lost(r.term, s.Timeout)
		s.Pass(s.Timeout)
		require.Len(s.T, s.Nodes(), 1, "it does not stand")
		_, err := e.Campaign(s.Ctx)
		require.ErrorIs(s.T, err, election.ErrBusy)
		require.NoError(s.T, term.Resign(s.Ctx))
		require.NoError(s.T, s.lead(other).Resign(s.Ctx))
		require.NoError(s.T, c.Close(s.Ctx))
		r.answer <- nil
		require.ErrorIs(s.T, run.returns(s.Timeout), zkconn.ErrClosed)
	})
}

// Whoever never led hears nothing of terms: there is nothing to stop.
func TestACandidateThatNeverLedIsToldNothing(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, other := s.candidate("other")
		term := s.lead(other)
		var told journal[string]
		c, e := s.candidate("a", zklock.WithTrace(&zklock.Trace{
			Granted:  func(zklock.Attempt, fencing.Token) { told.write("granted") },
			Lost:     func(zklock.Attempt, *zklock.LostError) { told.write("lost") },
			Returned: func(zklock.Attempt, error) { told.write("returned") },
		}))
		ctx, cancel := context.WithCancel(s.Ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_ = e.Run(ctx, func(context.Context, *election.Term) error {
				told.write("led")
				return nil
			})
		}()
		var line []election.Candidate
		s.Eventually(s.Timeout, func() bool {
			var err error
			line, err = other.Queue(s.Ctx)
			return err == nil && len(line) == 2
		}, "the candidate's node")
		s.Of(c).Cut()
		require.NoError(s.T, s.Expire(s.Session(c)))
		// For how long the line is of one is the candidate's to choose, and may be too
		// short to see.
		s.Eventually(s.Timeout, func() bool {
			again, err := other.Queue(s.Ctx)
			return err == nil && len(again) == 2 && again[1].Node != line[1].Node
		}, "it stands again")
		cancel()
		s.Ended(done, s.Timeout, "Run has not returned")
		require.Empty(s.T, told.read())
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}
