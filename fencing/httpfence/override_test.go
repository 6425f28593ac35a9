package httpfence_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// A forged token through a Gateway without authentication locks everybody out, and an
// Override on its Door mends that while it runs (cases 26, 27).
func TestAForgedTokenAtAGatewayIsStoppedBeforeItOrOverridden(t *testing.T) {
	f := newFront(t, created)
	open := f.Handler
	auth := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, ok := r.BasicAuth(); !ok || password != "open sesame" {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		open.ServeHTTP(w, r)
	})
	ask := func(h http.Handler, method, header, value, password string) int {
		r := httptest.NewRequestWithContext(t.Context(), method, "/report?r=r", nil)
		r.SetBasicAuth("me", password)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	mine := func(s fencing.Stamp) int {
		return ask(auth, http.MethodPut, httpfence.StampHeader, s.String(), "open sesame")
	}
	forged := at(t, 1<<63-1, 1)
	require.Equal(t, http.StatusUnauthorized, ask(auth, http.MethodPut, httpfence.StampHeader, forged.String(), "guess"))
	require.Equal(t, http.StatusUnauthorized, ask(auth, http.MethodPost, httpfence.RaiseHeader, forged.Token.String(), "guess"))
	require.Equal(t, http.StatusCreated, mine(at(t, 10, 1)))

	require.Equal(t, http.StatusNoContent, ask(open, http.MethodPost, httpfence.RaiseHeader, forged.Token.String(), "guess"))
	require.Equal(t, http.StatusConflict, mine(at(t, 10, 2)))
	require.Equal(t, http.StatusConflict, mine(at(t, 11, 1)))
	require.NoError(t, f.door.Override(t.Context(), "r", at(t, 10, 1), "Ada", "a forged token"))
	require.Equal(t, http.StatusCreated, mine(at(t, 10, 2)))
	require.EqualValues(t, 2, f.asked.Load())

	f.reopen() // the record is as durable as the memory
	records := f.door.Overrides("r")
	require.Len(t, records, 1)
	require.Equal(t, fencing.Stamp{Token: forged.Token}, records[0].From)
}
