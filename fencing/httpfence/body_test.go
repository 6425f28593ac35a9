package httpfence_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// What Resource had read of the body was missing when the handler ran: a command was
// applied with nothing in it.
func TestWhoLooksIntoTheBodyTakesNothingFromTheHandler(t *testing.T) {
	const form = "account=ada&amount=10"
	d, err := door.New(door.Options{})
	require.NoError(t, err)
	var seen []string
	guarded, err := httpfence.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		require.EqualValues(t, len(body), r.ContentLength)
		require.Nil(t, r.Form, "nobody has parsed it before")
		seen = append(seen, string(body))
	}), httpfence.Config{
		Door:       d,
		Resource:   func(r *http.Request) (string, error) { return r.FormValue("account"), nil },
		Repeatable: func(r *http.Request) bool { return r.FormValue("amount") == "0" },
		MaxBody:    int64(len(form)),
	})
	require.NoError(t, err)
	post := func(body string) *http.Response {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set(httpfence.StampHeader, "0xa:1")
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		resp := w.Result()
		resp.Request = r
		return resp
	}
	require.True(t, httpfence.WasApplied(post(form)))
	require.Equal(t, []string{form}, seen)
	require.Equal(t, at(t, 10, 1), d.Last("ada"))

	require.ErrorIs(t, httpfence.Error(post("amount=10")), fencing.ErrBadResource)
	require.ErrorIs(t, httpfence.Error(post(form+"0")), httpfence.ErrNotRun, "longer than MaxBody")
	require.Len(t, seen, 1)
}
