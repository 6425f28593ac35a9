package httpfence_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// An http.Client follows a redirect of a PUT with a GET, and what that was answered was
// taken for the command's answer: a login's page for a success of a command that nobody
// had judged, a 404 for the failure of one that was applied.
func TestTheAnswerToAFollowedRedirectIsNotTheCommands(t *testing.T) {
	for name, c := range map[string]struct {
		outside bool // the redirect is of whoever stands before the guard
		status  int
		there   int // what the GET is answered with
		said    string
	}{
		"OfTheLogin":       {true, http.StatusFound, http.StatusOK, ""},
		"OfTheHandler":     {false, http.StatusMovedPermanently, http.StatusOK, "failed"},
		"AppliedAndFound":  {false, http.StatusSeeOther, http.StatusOK, "applied"},
		"AppliedAndAbsent": {false, http.StatusSeeOther, http.StatusNotFound, "applied"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := door.New(door.Options{})
			require.NoError(t, err)
			elsewhere := func(w http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path == "/elsewhere" {
					w.WriteHeader(c.there)
					return true
				}
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(c.status)
				return false
			}
			guarded, err := httpfence.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere(w, r) }),
				httpfence.Config{Door: d, Resource: httpfence.One("r")})
			require.NoError(t, err)
			handler := guarded
			if c.outside {
				handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { elsewhere(w, r) })
			}
			server := httptest.NewServer(handler)
			defer server.Close()
			base := server.Client().Transport
			put := func(seq uint64) *http.Request {
				r, err := http.NewRequestWithContext(fencing.WithStamp(t.Context(), at(t, 10, seq)), http.MethodPut, server.URL, nil)
				require.NoError(t, err)
				return r
			}

			_, err = (&http.Client{Transport: httpfence.Transport{Base: base}}).Do(put(1))
			require.ErrorContains(t, err, "/elsewhere")
			require.ErrorContains(t, err, http.StatusText(c.status))
			if c.said == "" {
				require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
			} else {
				require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
				require.ErrorContains(t, err, c.said+" by the guard's word")
			}

			// Without the Transport it is followed, and Error sees that it was.
			bare := put(2)
			bare.Header.Set(httpfence.StampHeader, "0xa:2")
			resp, err := (&http.Client{Transport: base}).Do(bare)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, c.there, resp.StatusCode)
			require.ErrorIs(t, httpfence.Error(resp), fencing.ErrUnknownOutcome)
			require.False(t, httpfence.WasApplied(resp))

			// Who does not follow has the answer itself.
			asks := &http.Client{Transport: httpfence.Transport{Base: base}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
			resp, err = asks.Do(put(3))
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.Equal(t, c.status, resp.StatusCode)
			require.Equal(t, c.said == "applied", httpfence.WasApplied(resp))
			if c.said == "" {
				require.ErrorIs(t, httpfence.Error(resp), fencing.ErrUnknownOutcome)
			} else {
				require.NoError(t, httpfence.Error(resp))
			}
		})
	}
}

// No guard stands there, or somebody before it answers for it.
func TestASuccessWithoutAGuardsWordIsNone(t *testing.T) {
	for _, status := range []int{http.StatusOK, http.StatusNoContent, http.StatusNotModified} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		client := &http.Client{Transport: httpfence.Transport{Base: server.Client().Transport}}
		for method, want := range map[string]error{http.MethodGet: nil, http.MethodPut: fencing.ErrUnknownOutcome} {
			r, err := http.NewRequestWithContext(fencing.WithStamp(t.Context(), at(t, 10, 1)), method, server.URL, nil)
			require.NoError(t, err)
			resp, err := client.Do(r)
			require.NoError(t, err)
			require.NoError(t, resp.Body.Close())
			require.ErrorIs(t, httpfence.Error(resp), want)
			require.False(t, httpfence.WasApplied(resp))
		}
		server.Close()
	}
	d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) })
	resp := d.send(http.MethodPut, "", httpfence.StampHeader, "0xa:1")
	require.NoError(t, httpfence.Error(resp))
	require.False(t, httpfence.WasApplied(resp), "a 304 has changed nothing")
}
