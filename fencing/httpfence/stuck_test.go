package httpfence_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// endless is a body that nobody's context ends: of a Transport of the user's own.
type endless struct {
	reader *io.PipeReader
	writer *io.PipeWriter
}

func (e endless) Read(p []byte) (int, error) { return e.reader.Read(p) }
func (e endless) Close() error               { return e.reader.Close() }

// The body of an answer was read to its end, and that was the connection's: the resource
// was kept for ever, for Raise, Override and Close as well.
func TestAnAnswerThatDoesNotEndKeepsTheResourceForTheTimeoutAlone(t *testing.T) {
	t.Run("SwitchingProtocols", func(t *testing.T) {
		f := newFront(t, func(w http.ResponseWriter, _ *http.Request) {
			c, rw, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			defer c.Close()
			_, _ = rw.WriteString("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
			_ = rw.Flush()
			_, _ = bufio.NewReader(c).ReadByte() // until it is closed over there
		})
		require.ErrorIs(t, httpfence.Error(f.send(http.MethodPut, at(t, 10, 1))), fencing.ErrUnknownOutcome)
		require.NoError(t, f.door.Override(t.Context(), "report", at(t, 11, 0), "Ada", "it is free"))
	})
	t.Run("ATransportOfOnesOwn", func(t *testing.T) {
		f := newFront(t, func(http.ResponseWriter, *http.Request) {})
		u, err := url.Parse(f.upstream)
		require.NoError(t, err)
		never := base(func(r *http.Request) (*http.Response, error) {
			reader, writer := io.Pipe()
			return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Header: http.Header{}, Body: endless{reader, writer}, Request: r}, nil
		})
		f.Handler, err = httpfence.Gateway(httpfence.Upstream{URL: u, Transport: never, Timeout: 50 * time.Millisecond}, httpfence.Config{Door: f.door, Resource: byQuery})
		require.NoError(t, err)
		require.ErrorIs(t, httpfence.Error(f.send(http.MethodPut, at(t, 10, 1))), fencing.ErrUnknownOutcome)
	})
}

// The guard further down had applied it, and its answer was too long to be recorded: a
// 409, which was judged as "not applied".
func TestAGatewayBelievesTheGuardFurtherDown(t *testing.T) {
	said, status := "applied", http.StatusConflict
	f := newFront(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(httpfence.OutcomeHeader, said)
		w.WriteHeader(status)
	})
	require.True(t, httpfence.WasApplied(f.send(http.MethodPost, at(t, 10, 1))))
	require.Equal(t, at(t, 10, 1), f.door.Last("report"))
	said, status = "failed", http.StatusInternalServerError
	resp := f.send(http.MethodPost, at(t, 10, 2))
	require.NoError(t, httpfence.Error(resp), "a service's 500 alone would be an unknown outcome")
	require.False(t, httpfence.WasApplied(resp))
	require.Equal(t, at(t, 10, 1), f.door.Last("report"))
}

// What net/http refuses to send was swallowed, and the implicit 200 after it said that the
// command had been applied.
func TestAStatusThatIsNoneIsAnUnknownOutcome(t *testing.T) {
	for _, status := range []int{0, 99, 1000, http.StatusSwitchingProtocols} {
		d := newDesk(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "error: disk full")
		})
		post := func() *http.Response { return d.send(http.MethodPost, "", httpfence.StampHeader, "0xa:1") }
		require.Panics(t, func() { post() })
		require.ErrorIs(t, httpfence.Error(post()), fencing.ErrUnknownOutcome)
	}
}

func TestARaiseIsNoCommand(t *testing.T) {
	d := newDesk(t, created)
	resp := d.send(http.MethodPost, "", httpfence.StampHeader, "0xa:1", httpfence.RaiseHeader, "0xa")
	require.ErrorIs(t, httpfence.Error(resp), httpfence.ErrBadStamp)
	require.Zero(t, d.ran)
	require.Equal(t, fencing.Stamp{}, d.door.Last("the report"))
	require.ErrorContains(t, httpfence.Raise(t.Context(), nil, "http://127.0.0.1:1", at(t, 10, 0).Token), "client is nil")
}

// A Client.Timeout puts the text of an error in its place, "unknown outcome" included.
func TestDoSeesThroughAClientsTimeout(t *testing.T) {
	release := make(chan struct{})
	d := newDesk(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut {
			<-release
		}
		created(w, r)
	})
	server := httptest.NewServer(d)
	defer server.Close()
	defer close(release)
	client := &http.Client{Transport: httpfence.Transport{Base: server.Client().Transport}}
	do := func(method string, seq uint64) (*http.Response, error) {
		ctx := fencing.WithStamp(context.WithoutCancel(t.Context()), at(t, 10, seq))
		r, err := http.NewRequestWithContext(ctx, method, server.URL, strings.NewReader("x"))
		require.NoError(t, err)
		return httpfence.Do(client, r)
	}
	resp, err := do(http.MethodPost, 1)
	require.NoError(t, err)
	require.True(t, httpfence.WasApplied(resp))
	require.NoError(t, resp.Body.Close())
	_, err = do(http.MethodPost, 1)
	require.ErrorIs(t, err, fencing.ErrDuplicate)

	client.Timeout = 50 * time.Millisecond
	_, err = do(http.MethodPut, 2)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	_, err = httpfence.Do(nil, nil)
	require.ErrorContains(t, err, "client is nil")
}
