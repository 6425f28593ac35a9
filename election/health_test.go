package election_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zktest"
)

// check asks a health check.
func (s *scene) check(h http.Handler) (int, election.Status) {
	s.T.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(s.Ctx, http.MethodGet, "/health", nil))
	var status election.Status
	require.NoError(s.T, json.Unmarshal(w.Body.Bytes(), &status), "%s", w.Body)
	require.Equal(s.T, "application/json", w.Header().Get("Content-Type"))
	require.Equal(s.T, "no-store", w.Header().Get("Cache-Control"))
	return w.Code, status
}

func TestTheHealthCheckSaysWhoLeadsAndForHowLong(t *testing.T) {
	virtually(t, func(s *scene) {
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		ha, hb := a.Handler(0), b.Handler(0)
		code, status := s.check(ha)
		require.Equal(s.T, http.StatusOK, code)
		require.Equal(s.T, "Idle", status.State)
		require.Nil(s.T, status.Leader)
		require.Contains(s.T, status.Reason, "nobody leads")

		term := s.lead(a)
		ctx, cancel := context.WithCancel(s.Ctx)
		defer cancel()
		waiting := s.stands(ctx, b)
		require.NoError(s.T, term.SetInfo(s.Ctx, "a:2"))
		leader := "a:2"
		code, status = s.check(ha)
		require.Equal(s.T, http.StatusOK, code)
		require.Positive(s.T, status.RemainingMs)
		require.LessOrEqual(s.T, status.RemainingMs, s.Timeout.Milliseconds())
		status.RemainingMs = 0
		token := term.Token().String()
		require.Equal(s.T, election.Status{State: "Held", Leader: &leader, Epoch: token, Token: token}, status)

		code, status = s.check(hb)
		require.Equal(s.T, http.StatusOK, code)
		require.Equal(s.T, election.Status{State: "Acquiring", Leader: &leader, Epoch: token}, status)
		cancel()
		<-waiting.done
		_, status = s.check(hb)
		require.Equal(s.T, "Idle", status.State)
		require.NoError(s.T, term.Resign(s.Ctx))
		_, status = s.check(ha)
		require.Equal(s.T, "Idle", status.State)
		require.Empty(s.T, status.Token)
	})
}

func TestTheHealthCheckFailsOnceSuspectForLongerThanItsGrace(t *testing.T) {
	virtually(t, func(s *scene) {
		grace := s.Timeout / 4
		c, e := s.candidate("a")
		h, strict := e.Handler(grace), e.Handler(0)
		term := s.lead(e)
		of := s.Of(c)
		of.Refuse(true)
		of.Cut()
		s.settle()
		code, status := s.check(h)
		require.Equal(s.T, http.StatusOK, code)
		require.Equal(s.T, "Suspect", status.State)
		require.InDelta(s.T, 100, status.TroubleMs, 10)
		require.Equal(s.T, term.Token().String(), status.Token)
		code, _ = s.check(strict)
		require.Equal(s.T, http.StatusServiceUnavailable, code)
		s.Pass(grace)
		code, status = s.check(h)
		require.Equal(s.T, http.StatusServiceUnavailable, code)
		require.Equal(s.T, "Suspect", status.State)
		require.Equal(s.T, "a", *status.Leader)
		require.NoError(s.T, term.Context().Err(), "suspect is not lost")
		of.Refuse(false)
		require.NoError(s.T, term.Ready(s.Ctx, 0))
		code, status = s.check(strict)
		require.Equal(s.T, http.StatusOK, code)
		require.Zero(s.T, status.TroubleMs)
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}

// Silence makes a term suspect as well: counted from when its proof was too old.
func TestTheHealthCheckCountsSilence(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		s.lead(e)
		s.Pass(s.Timeout)
		s.Of(c).Blackhole(true)
		s.Pass(s.Timeout/4 + s.Timeout/16)
		_, status := s.check(e.Handler(0))
		require.Equal(s.T, "Suspect", status.State)
		require.Positive(s.T, status.TroubleMs)
		require.Less(s.T, status.TroubleMs, (s.Timeout / 8).Milliseconds())
	})
}

// A lead that goes on after its loss looks like a standby from outside: its node
// is gone, another one leads. The process must be restarted, so its check says so.
func TestTheHealthCheckFailsWhileALeadGoesOnAfterItsLoss(t *testing.T) {
	virtually(t, func(s *scene) {
		const grace = 3 * time.Second
		c, e := s.candidate("a")
		_, other := s.candidate("b")
		h := e.Handler(grace)
		b := s.runs(s.Ctx, e)
		r := b.begins(s.Timeout)
		require.NoError(s.T, s.Expire(s.Session(c)))
		s.lost(r.term, s.Timeout)
		next := s.lead(other)
		code, status := s.check(h)
		require.Equal(s.T, http.StatusOK, code)
		require.Equal(s.T, "Lost", status.State)
		require.Equal(s.T, r.term.Token().String(), status.Token)
		require.Equal(s.T, "b", *status.Leader)
		require.Equal(s.T, next.Token().String(), status.Epoch)
		s.Pass(grace)
		code, status = s.check(h)
		require.Equal(s.T, http.StatusServiceUnavailable, code)
		require.Equal(s.T, "Lost", status.State)
		require.GreaterOrEqual(s.T, status.TroubleMs, grace.Milliseconds())

		r.answer <- nil
		s.settle()
		code, status = s.check(h)
		require.Equal(s.T, http.StatusOK, code, "it stands again")
		require.Equal(s.T, "Acquiring", status.State)
		require.NoError(s.T, next.Resign(s.Ctx))

		// One that has resigned and goes on neither leads nor stands either.
		r = b.begins(s.Timeout)
		require.NoError(s.T, r.term.Resign(s.Ctx))
		s.Pass(grace - time.Second)
		code, status = s.check(h)
		require.Equal(s.T, http.StatusOK, code, "it may take its time to clean up")
		require.Equal(s.T, "Idle", status.State)
		require.InDelta(s.T, (grace - time.Second).Milliseconds(), status.TroubleMs, 100)
		s.Pass(2 * time.Second)
		code, status = s.check(h)
		require.Equal(s.T, http.StatusServiceUnavailable, code)
		require.Equal(s.T, "Idle", status.State)
		r.answer <- nil
		require.NoError(s.T, b.returns(s.Timeout))
		code, status = s.check(h)
		require.Equal(s.T, http.StatusOK, code, "Run has returned")
		require.Zero(s.T, status.TroubleMs)
	})
}

// The node of a lead that has resigned cannot be deleted yet, and lead goes on: it
// is no better off than with the node gone.
func TestTheHealthCheckCountsALeadThatGoesOnWhileItsResignationIsUnderWay(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		b := s.runs(s.Ctx, e)
		r := b.begins(s.Timeout)
		s.Of(c).DropRequest(zktest.OpDelete, 1<<20)
		ctx, cancel := context.WithTimeout(s.Ctx, 2*time.Second)
		defer cancel()
		require.ErrorIs(s.T, r.term.Resign(ctx), context.DeadlineExceeded)
		code, status := s.check(e.Handler(time.Second))
		require.Equal(s.T, http.StatusServiceUnavailable, code)
		require.Equal(s.T, "Releasing", status.State)
		r.answer <- nil
		s.settle()
		code, status = s.check(e.Handler(0))
		require.Equal(s.T, http.StatusOK, code, "lead has returned")
		require.Equal(s.T, "Releasing", status.State)
		require.NoError(s.T, b.returns(2*s.Timeout))
	})
}

// A Campaign's term that has been resigned is nobody's any more.
func TestTheHealthCheckOfACampaignThatIsResignedIsWell(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		require.NoError(s.T, s.lead(e).Resign(s.Ctx))
		s.Pass(time.Second)
		code, status := s.check(e.Handler(0))
		require.Equal(s.T, http.StatusOK, code)
		require.Equal(s.T, "Idle", status.State)
		require.Zero(s.T, status.TroubleMs)
	})
}

func TestTheHealthCheckForgivesALostTermOnceItsHolderHasTurnedAway(t *testing.T) {
	for claim, turn := range map[string]func(s *scene, e *election.Election, t *election.Term){
		"ByResigning": func(s *scene, _ *election.Election, t *election.Term) { require.Error(s.T, t.Resign(s.Ctx)) },
		"ByCampaigningAgain": func(s *scene, e *election.Election, _ *election.Term) {
			_, other := s.candidate("other")
			s.lead(other)
			require.False(s.T, s.stands(s.Ctx, e).returned())
		},
	} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				_, e := s.candidate("a")
				term := s.lead(e)
				require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
				s.lost(term, s.Timeout)
				s.Pass(time.Second)
				code, _ := s.check(e.Handler(time.Second / 2))
				require.Equal(s.T, http.StatusServiceUnavailable, code)
				turn(s, e, term)
				code, _ = s.check(e.Handler(time.Second / 2))
				require.Equal(s.T, http.StatusOK, code)
			})
		})
	}
}

// A standby that cannot reach the ensemble is well: restarting it mends nothing.
func TestTheHealthCheckOfAStandbyThatKnowsNothingIsBoundedAndWell(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		s.Of(c).Freeze(zktest.BothWays)
		began := time.Now()
		code, status := s.check(e.Handler(0))
		require.LessOrEqual(s.T, time.Since(began), time.Second/4, "probes give up after a second by default")
		require.Equal(s.T, http.StatusOK, code)
		require.Nil(s.T, status.Leader)
		require.NotEmpty(s.T, status.Reason)
	})
}

func TestTheHealthCheckAnswersGetAndHeadAlone(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		h := e.Handler(0)
		for method, want := range map[string]int{http.MethodHead: http.StatusOK, http.MethodPost: http.StatusMethodNotAllowed} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(s.Ctx, method, "/", nil))
			require.Equal(s.T, want, w.Code)
		}
		require.Panics(s.T, func() { e.Handler(-1) })
	})
}
