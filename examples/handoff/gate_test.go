package main

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/examples/internal/fenced"
	"github.com/zkfence/zkfence/fencing"
)

func stamp(t *testing.T, text string) fencing.Stamp {
	t.Helper()
	s, err := fencing.ParseStamp(text)
	require.NoError(t, err)
	return s
}

func startStore(t *testing.T) (s *store, c *fenced.Client, url string) {
	t.Helper()
	s = newStore("secret", reportName, "old")
	server := httptest.NewServer(s.handler())
	t.Cleanup(server.Close)
	url = server.URL + "/" + reportName
	return s, fenced.NewClient(url, "secret"), url
}

func TestStore(t *testing.T) {
	ctx := t.Context()

	t.Run("TakesAReportAndRemembersItsStamp", func(t *testing.T) {
		_, c, _ := startStore(t)
		require.NoError(t, c.Put(ctx, stamp(t, "0x7:1"), []byte("new")))
		report, last, err := c.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, "new", string(report))
		require.Equal(t, stamp(t, "0x7:1"), last)
	})
	t.Run("RefusesAnOlderOwnerOnceTheFloorIsRaised", func(t *testing.T) {
		_, c, _ := startStore(t)
		require.NoError(t, c.Put(ctx, stamp(t, "0x7:1"), []byte("new")))
		require.NoError(t, c.Raise(ctx, stamp(t, "0xb:0").Token))
		err := c.Put(ctx, stamp(t, "0x7:2"), []byte("late"))
		require.ErrorIs(t, err, fencing.ErrStale)
		for _, part := range []string{"412", "0x7:2", "0xb:0", reportName} {
			require.ErrorContains(t, err, part)
		}
		require.ErrorIs(t, c.Raise(ctx, stamp(t, "0x7:0").Token), fencing.ErrStale)
		report, last, err := c.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, "new", string(report))
		require.Equal(t, stamp(t, "0xb:0"), last)
	})
	t.Run("TellsADuplicateFromACommandThatCameTooLate", func(t *testing.T) {
		_, c, _ := startStore(t)
		require.NoError(t, c.Put(ctx, stamp(t, "0x7:2"), []byte("new")))
		require.ErrorIs(t, c.Put(ctx, stamp(t, "0x7:2"), []byte("again")), fencing.ErrDuplicate)
		err := c.Put(ctx, stamp(t, "0x7:1"), []byte("late"))
		require.ErrorIs(t, err, fencing.ErrSuperseded)
		require.False(t, errors.Is(err, fencing.ErrDuplicate))
		report, _, err := c.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, "new", string(report))
	})
	// One forged token of 0x7fffffffffffffff would lock everybody out.
	t.Run("AuthenticatesBeforeTheGate", func(t *testing.T) {
		s, _, url := startStore(t)
		forger := fenced.NewClient(url, "guess")
		err := forger.Put(ctx, stamp(t, "0x7fffffffffffffff:1"), []byte("forged"))
		require.ErrorContains(t, err, "401")
		require.ErrorContains(t, forger.Raise(ctx, stamp(t, "0x7fffffffffffffff:0").Token), "401")
		require.Equal(t, fencing.Stamp{}, s.gate.Last())
	})
	t.Run("RefusesWhatCarriesNoStampOrABadOne", func(t *testing.T) {
		s, _, url := startStore(t)
		for header, status := range map[string]int{
			"":       http.StatusPreconditionRequired,
			"0x7":    http.StatusBadRequest,
			"0x7:01": http.StatusBadRequest,
			"0x0:1":  http.StatusBadRequest,
			"0x0:0":  http.StatusBadRequest,
		} {
			require.Equal(t, status, rawPut(t, url, header, "x"), "%q", header)
		}
		require.Equal(t, fencing.Stamp{}, s.gate.Last())
		require.Equal(t, http.StatusRequestEntityTooLarge, rawPut(t, url, "0x7:1", strings.Repeat("x", fenced.MaxBody+1)))
		require.Equal(t, fencing.Stamp{}, s.gate.Last(), "the gate is not asked before all has been read")
	})
}

func rawPut(t *testing.T, url, header, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer secret")
	if header != "" {
		req.Header.Set(fenced.StampHeader, header)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	return resp.StatusCode
}

func TestComputeReplacesAnEarlierTotal(t *testing.T) {
	first, err := compute([]byte(reportRaw), "W1", stamp(t, "0x7:0").Token)
	require.NoError(t, err)
	require.Equal(t, reportRaw+"total,3880,by W1 with 0x7\n", string(first))
	second, err := compute(first, "W2", stamp(t, "0xb:0").Token)
	require.NoError(t, err)
	require.Equal(t, reportRaw+"total,3880,by W2 with 0xb\n", string(second))

	_, err = compute([]byte("region,revenue\nnorth,many\n"), "W1", stamp(t, "0x7:0").Token)
	require.ErrorContains(t, err, "row 2")
}
