package httpfence_test

import (
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// A handler that asks a service behind a guard of its own, under the same Stamp, and
// passes its answer on: that one's "duplicate", or recorded answer, was taken for this
// guard's word, so a command that this guard knows as not applied was told as a
// success that came before.
func TestAGuardFurtherDownIsNotThisGuardsWord(t *testing.T) {
	problem := `{"type":"tag:zkfence.github.io,2026:duplicate","presented":"0xa:1","highest":"0xa:1"}`
	for name, next := range map[string]http.HandlerFunc{
		"Problem": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json; charset=utf-8")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(problem))
		},
		"Recorded": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(httpfence.RecordedHeader, "0xa:1")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(problem))
		},
		"RecordedProblem": func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["fence-recorded"] = []string{"0xa:1"} // as somebody may write it
			w.Header().Set("Content-Type", "APPLICATION/problem+JSON")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(problem))
		},
		"Applied": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(httpfence.RecordedHeader, "0xa:1")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(problem))
		},
	} {
		t.Run(name, func(t *testing.T) {
			resp := newDesk(t, next).put(at(t, 10, 1), "")
			require.NoError(t, httpfence.Error(resp))
			for header := range resp.Header {
				require.NotEqual(t, httpfence.RecordedHeader, http.CanonicalHeaderKey(header))
			}
			require.JSONEq(t, problem, text(t, resp), "it is the handler's answer all the same")
		})
	}
}

// The guard cannot read what is compressed, and net/http's client does.
func TestAGuardFurtherDownIsNotThisGuardsWordCompressed(t *testing.T) {
	server := httptest.NewServer(newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(http.StatusConflict)
		z := gzip.NewWriter(w)
		_, _ = z.Write([]byte(`{"type":"tag:zkfence.github.io,2026:duplicate","presented":"0xa:1","highest":"0xa:1"}`))
		_ = z.Close()
	}))
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(fencing.WithStamp(t.Context(), at(t, 10, 1)), http.MethodPut, server.URL, nil)
	require.NoError(t, err)
	resp, err := (&http.Client{Transport: httpfence.Transport{Base: transport}}).Do(r)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	require.NoError(t, httpfence.Error(resp))
	require.True(t, resp.Uncompressed)
	require.Contains(t, text(t, resp), "duplicate")
}

// Problems of the handler's own stay what they are.
func TestAHandlersOwnProblemStaysOne(t *testing.T) {
	resp := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"type":"about:blank"}`))
	}).put(at(t, 10, 1), "")
	require.Equal(t, "application/problem+json", resp.Header.Get("Content-Type"))
	require.NoError(t, httpfence.Error(resp))
}
