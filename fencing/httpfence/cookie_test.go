package httpfence_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing/httpfence"
)

// The recorded answer of an operation goes to whoever sends it again, under any Token:
// it carried the session's cookie of the first to send it.
func TestARecordedAnswerHasNoCookieOfTheFirst(t *testing.T) {
	d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=first")
		w.Header().Set("Connection", "X-This-Hop, close")
		w.Header().Set("X-This-Hop", "1")
		w.Header().Set("Keep-Alive", "timeout=5")
		w.Header().Set("Location", "/report/1")
		w.WriteHeader(http.StatusCreated)
	})
	first := d.send(http.MethodPost, "", httpfence.StampHeader, "0xa:1", httpfence.OpHeader, "pay-17")
	require.Equal(t, "session=first", first.Header.Get("Set-Cookie"))
	require.Equal(t, "/report/1", first.Header.Get("Location"))
	for _, stamp := range []string{"0xa:1", "0xb:1"} {
		again := d.send(http.MethodPost, "", httpfence.StampHeader, stamp, httpfence.OpHeader, "pay-17")
		require.Equal(t, http.StatusCreated, again.StatusCode)
		require.NotEmpty(t, again.Header.Get(httpfence.RecordedHeader))
		require.Equal(t, "/report/1", again.Header.Get("Location"))
		for _, name := range []string{"Set-Cookie", "Connection", "X-This-Hop", "Keep-Alive"} {
			require.Empty(t, again.Header.Values(name), name)
		}
	}
	require.Equal(t, 1, d.ran)
}

// What was not applied is recorded nowhere, and its client gets all of it.
func TestARefusingHandlersCookieGoesOut(t *testing.T) {
	resp := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=first")
		w.WriteHeader(http.StatusConflict)
	}).put(at(t, 10, 1), "")
	require.Equal(t, "session=first", resp.Header.Get("Set-Cookie"))
}
