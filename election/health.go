package election

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/zkfence/zkfence/zklock"
)

// Status is what Handler answers with, as JSON.
type Status struct {
	State       string  `json:"state"`            // of this candidate: Idle, Acquiring, Held, Suspect, Lost, Releasing
	Leader      *string `json:"leader"`           // info of who leads; null: nobody, or not known
	Epoch       string  `json:"epoch,omitempty"`  // of the leader, in hex as a Token is written
	Token       string  `json:"token,omitempty"`  // of this candidate's term, while it has one
	RemainingMs int64   `json:"remaining_ms"`     // trusted time left to this candidate's term
	TroubleMs   int64   `json:"trouble_ms"`       // for how long it has been Suspect, or its term over and not turned away from
	Reason      string  `json:"reason,omitempty"` // why the leader is not known
}

// leaderWithin bounds how long a health check waits to learn who leads: an
// orchestrator's probe gives up after a second by default, and would restart every
// standby in an outage.
const leaderWithin = time.Second / 4

// Handler returns a health check: 200 with a Status, or 503 with one while this
// candidate has been Suspect for longer than grace, or its term has been over for
// longer than that and nobody has turned away from it. Run's lead turns away by
// returning, after a loss and after a Resign alike, for until then the process
// neither leads nor stands; Campaign's caller does by Resign, also of a term that
// is lost, or by campaigning again. A candidate
// that waits, or does not stand at all, is well, even if it cannot learn who
// leads: restarting it would not help. A standby's check costs one list and one
// read, and waits for them at most 250 ms: in an outage it says then that the
// leader is not known. Set the probe's own timeout above that. It panics if grace
// is negative.
func (e *Election) Handler(grace time.Duration) http.Handler {
	if grace < 0 {
		panic(fmt.Sprintf("election: handler: grace = %v: must not be negative", grace))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "use GET", http.StatusMethodNotAllowed)
			return
		}
		status, trouble := e.status(r.Context())
		body, err := json.Marshal(status)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		if trouble > grace {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write(append(body, '\n')) // whoever asked has gone
	})
}

func (e *Election) status(ctx context.Context) (s Status, trouble time.Duration) {
	e.mu.Lock()
	busy, t := e.busy, e.term
	e.mu.Unlock()
	state := zklock.Idle
	if busy {
		state = zklock.Acquiring
	}
	if t != nil {
		switch now := t.State(); {
		case now == zklock.Held || now == zklock.Suspect:
			state = now
			s.Token = t.Token().String()
			s.RemainingMs = max(t.Remaining(), 0).Milliseconds()
			info := *t.info.Load()
			s.Leader, s.Epoch = &info, s.Token
			trouble = t.h.Internal().Session.SuspectFor()
		case now == zklock.Releasing && t.left.Load():
			state = now
		case t.left.Load():
			// It is past, whatever has become of it.
		case lostBy(t.h) != nil: // even when nothing of it is left on the ensemble
			state, trouble = zklock.Lost, t.over()
			s.Token = t.Token().String()
		default: // resigned, by a lead that has not returned
			state, trouble = now, t.over()
		}
	}
	s.State, s.TroubleMs = state.String(), trouble.Milliseconds()
	if s.Leader != nil {
		return s, trouble
	}
	ctx, cancel := context.WithTimeout(ctx, leaderWithin)
	defer cancel()
	l, err := e.Leader(ctx)
	if err != nil {
		s.Reason = err.Error()
		return s, trouble
	}
	s.Leader, s.Epoch = &l.Info, fmt.Sprintf("0x%x", l.Epoch)
	return s, trouble
}
