package httpfence_test

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// counting counts round trips.
type counting struct {
	http.RoundTripper
	n atomic.Int64
}

func (c *counting) RoundTrip(r *http.Request) (*http.Response, error) {
	c.n.Add(1)
	return c.RoundTripper.RoundTrip(r)
}

// BenchmarkCommand compares a command with a guard with the same without one.
func BenchmarkCommand(b *testing.B) {
	for _, how := range []string{"Bare", "GuardInMemory", "GuardWithFile"} {
		b.Run(how, func(b *testing.B) {
			var h http.Handler = newService()
			if how != "Bare" {
				d, err := door.New(door.Options{})
				if how == "GuardWithFile" {
					d, err = door.Open(filepath.Join(b.TempDir(), "door"), door.Options{})
				}
				require.NoError(b, err)
				h, err = httpfence.Guard(h, httpfence.Config{Door: d, Resource: httpfence.One("r")})
				require.NoError(b, err)
				defer func() { require.NoError(b, d.Close()) }()
			}
			server := httptest.NewServer(h)
			defer server.Close()
			wire := &http.Transport{}
			defer wire.CloseIdleConnections()
			trips := &counting{RoundTripper: wire}
			client := &http.Client{Transport: httpfence.Transport{Base: trips}}
			token, err := fencing.FromUint64(7)
			require.NoError(b, err)
			next := fencing.NewSequencer(token)
			n := int64(0)
			for b.Loop() {
				n++
				r, err := http.NewRequestWithContext(fencing.WithStamp(b.Context(), next.Next()), http.MethodPut, server.URL, strings.NewReader("x"))
				require.NoError(b, err)
				resp, err := client.Do(r)
				require.NoError(b, err)
				require.Equal(b, http.StatusOK, resp.StatusCode)
				require.NoError(b, resp.Body.Close())
			}
			require.Equal(b, n, trips.n.Load(), "no round trip more than without a guard")
			b.ReportMetric(float64(trips.n.Load())/float64(n), "trips/op")
		})
	}
}
