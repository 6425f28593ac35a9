package httpfence_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// An http.TimeoutHandler answers 503 and lets its handler go on. The guard took that
// for "not applied": the next owner was let in at once, and {7,1}'s handler wrote
// after it.
func TestA503OfATimeoutHandlerIsAnUnknownOutcome(t *testing.T) {
	release, ended := make(chan struct{}), make(chan struct{})
	slow := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		defer close(ended)
		<-release // and it writes
	})
	memory, err := door.New(door.Options{Settle: time.Hour})
	require.NoError(t, err)
	guard, err := httpfence.Guard(http.TimeoutHandler(slow, time.Millisecond, "late"), httpfence.Config{Door: memory, Resource: httpfence.One("r")})
	require.NoError(t, err)
	d := &desk{T: t, door: memory, Handler: guard}
	defer func() {
		close(release)
		<-ended
	}()
	require.ErrorIs(t, httpfence.Error(d.put(at(t, 7, 1), "")), fencing.ErrUnknownOutcome)
	var unsettled *door.UnsettledError
	require.ErrorAs(t, httpfence.Error(d.put(at(t, 8, 1), "")), &unsettled)
	require.Equal(t, at(t, 7, 1), unsettled.Lost)
}

// 504 says the same for whoever stands between, and neither is recorded as an answer.
func TestAHandlerWhoseTimeIsOverHasNotSaidWhatBecameOfIt(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusGatewayTimeout} {
		d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/report", strings.NewReader(""))
		r.Header.Set(httpfence.StampHeader, "0xa:1")
		for range 2 { // no PUT: it does not run again
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			require.Equal(t, http.StatusBadGateway, w.Code)
			require.ErrorIs(t, httpfence.Error(w.Result()), fencing.ErrUnknownOutcome)
		}
		require.Equal(t, 1, d.ran)
		require.Equal(t, at(t, 10, 0), d.door.Last("the report"))
	}
}

// An http.TimeoutHandler in front of the guard says 503 while the command runs. Error
// took that for the service's own answer, and its owner for a command that was refused.
func TestA503OfWhoeverStandsBeforeTheGuardIsAnUnknownOutcome(t *testing.T) {
	ctx, timeIsOver := context.WithCancel(t.Context())
	release := make(chan struct{})
	d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		timeIsOver()
		<-release
		w.WriteHeader(http.StatusCreated)
	})
	r := httptest.NewRequestWithContext(ctx, http.MethodPut, "/report", nil)
	r.Header.Set(httpfence.StampHeader, "0x7:1")
	w := httptest.NewRecorder()
	http.TimeoutHandler(d.Handler, time.Hour, "late").ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.ErrorIs(t, httpfence.Error(w.Result()), fencing.ErrUnknownOutcome)
	close(release)
	require.ErrorIs(t, httpfence.Error(d.put(at(t, 7, 1), "")), fencing.ErrDuplicate, "it has been applied")
	require.Equal(t, 1, d.ran)
}

// What a handler says of its own command is its word, with a 500 too; but not with the
// word of a guard further down.
func TestA500OfTheHandlersIsNoUnknownOutcome(t *testing.T) {
	d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["fence-outcome"] = []string{"applied"}
		w.WriteHeader(http.StatusInternalServerError)
	})
	resp := d.put(at(t, 7, 1), "")
	require.NoError(t, httpfence.Error(resp))
	require.Equal(t, []string{"failed"}, resp.Header.Values(httpfence.OutcomeHeader))
	require.NotContains(t, resp.Header, "fence-outcome")

	resp.Header.Del(httpfence.OutcomeHeader) // as without a guard
	require.ErrorIs(t, httpfence.Error(resp), fencing.ErrUnknownOutcome)
	resp.Request.Method = http.MethodGet
	require.NoError(t, httpfence.Error(resp), "a read has no outcome")
}
