package httpfence_test

import (
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
