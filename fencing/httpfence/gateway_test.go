package httpfence_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// front is a gateway before a service that the test answers for.
type front struct {
	*testing.T
	path, upstream string
	transport      http.RoundTripper
	door           *door.Door
	http.Handler
	asked atomic.Int64
}

func newFront(t *testing.T, answer http.HandlerFunc) *front {
	transport := &http.Transport{}
	f := &front{T: t, path: filepath.Join(t.TempDir(), "door"), transport: transport}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			panic(err)
		}
		f.asked.Add(1)
		answer(w, r)
	}))
	f.upstream = server.URL
	f.reopen()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
		require.NoError(t, f.door.Close())
	})
	return f
}

func (f *front) reopen() {
	f.Helper()
	if f.door != nil {
		require.NoError(f, f.door.Close())
	}
	f.door, f.Handler = gateway(f, f.path, f.upstream, f.transport)
}

func (f *front) send(method string, s fencing.Stamp) *http.Response {
	f.Helper()
	r := httptest.NewRequestWithContext(f.Context(), method, "/x?r=report", strings.NewReader("body"))
	r.Header.Set(httpfence.StampHeader, s.String())
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp
}

// The service has written, or will, and nobody was told.
func TestAnUpstreamsLostAnswerIsAnUnknownOutcome(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"Broken": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"BrokenBody": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("half"))
		},
		"Failed": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFront(t, answer)
			resp := f.send(http.MethodPost, at(t, 10, 1))
			require.Equal(t, http.StatusBadGateway, resp.StatusCode)
			require.ErrorIs(t, httpfence.Error(resp), fencing.ErrUnknownOutcome)
			require.EqualValues(t, 1, f.asked.Load())
			for _, restarted := range []bool{false, true} {
				if restarted {
					f.reopen()
				}
				for _, s := range []fencing.Stamp{at(t, 10, 1), at(t, 10, 2), at(t, 20, 1)}[map[bool]int{false: 0, true: 2}[restarted]:] {
					resp = f.send(http.MethodPost, s)
					require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
					require.NotEmpty(t, resp.Header.Get("Retry-After"))
					var unsettled *door.UnsettledError
					require.ErrorAs(t, httpfence.Error(resp), &unsettled)
					require.Equal(t, at(t, 10, 1), unsettled.Lost)
					require.Greater(t, unsettled.Wait, 50*time.Second)
				}
			}
			require.EqualValues(t, 1, f.asked.Load())
		})
	}
}

// What was never sent needs no caution.
func TestAServiceThatCannotBeReachedHasAppliedNothing(t *testing.T) {
	f := newFront(t, func(http.ResponseWriter, *http.Request) {})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	there := f.upstream
	f.upstream = "http://" + listener.Addr().String()
	require.NoError(t, listener.Close())
	f.reopen()
	resp := f.send(http.MethodPost, at(t, 10, 1))
	require.Equal(t, http.StatusBadGateway, resp.StatusCode)
	require.ErrorIs(t, httpfence.Error(resp), httpfence.ErrNotRun)
	f.upstream = there
	f.reopen()
	require.NoError(t, httpfence.Error(f.send(http.MethodPost, at(t, 10, 1))))
	require.Equal(t, at(t, 10, 1), f.door.Last("report"))
}

// A crash after the service has answered and before anybody was told: the file has
// the outcome, or says that it does not know.
func TestAGatewaysAnswersOutliveIt(t *testing.T) {
	f := newFront(t, created)
	require.Equal(t, http.StatusCreated, f.send(http.MethodPost, at(t, 10, 1)).StatusCode)
	f.reopen()
	resp := f.send(http.MethodPost, at(t, 10, 1))
	require.ErrorIs(t, httpfence.Error(resp), fencing.ErrDuplicate)
	require.Equal(t, http.StatusCreated, resp.StatusCode)
	require.Equal(t, "/report/1", resp.Header.Get("Location"))
	require.Equal(t, "made of ", text(t, resp))
	require.EqualValues(t, 1, f.asked.Load())
}

// What was sent cannot be taken back: to break off would make an outcome unknown
// that need not be.
func TestAClientThatLeavesDoesNotBreakItsCommandOff(t *testing.T) {
	arrived, goOn := make(chan struct{}), make(chan struct{})
	f := newFront(t, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-goOn
		w.WriteHeader(http.StatusNoContent)
	})
	contexts := make(chan context.Context, 1)
	gone := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contexts <- r.Context()
		f.ServeHTTP(w, r)
	}))
	defer gone.Close()
	conn, err := net.Dial("tcp", gone.Listener.Addr().String())
	require.NoError(t, err)
	_, err = conn.Write([]byte("POST /x?r=report HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n" + httpfence.StampHeader + ": 0xa:1\r\n\r\n"))
	require.NoError(t, err)
	<-arrived
	require.NoError(t, conn.Close())
	<-(<-contexts).Done() // the gateway's server has noticed
	close(goOn)
	// Its turn comes when that command has ended.
	resp := f.send(http.MethodPost, at(t, 10, 1))
	require.ErrorIs(t, httpfence.Error(resp), fencing.ErrDuplicate)
	require.Equal(t, http.StatusNoContent, resp.StatusCode)
}

func TestATimeoutIsAnUnknownOutcome(t *testing.T) {
	release := make(chan struct{})
	f := newFront(t, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	u, err := url.Parse(f.upstream)
	require.NoError(t, err)
	f.Handler, err = httpfence.Gateway(httpfence.Upstream{URL: u, Transport: f.transport, Timeout: 50 * time.Millisecond}, httpfence.Config{Door: f.door, Resource: byQuery})
	require.NoError(t, err)
	require.ErrorIs(t, httpfence.Error(f.send(http.MethodPut, at(t, 10, 1))), fencing.ErrUnknownOutcome)
}

func TestTheUpstreamsWordDecides(t *testing.T) {
	f := newFront(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Verdict", r.Method)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write(bytes.Repeat([]byte("x"), 10))
	})
	u, err := url.Parse(f.upstream)
	require.NoError(t, err)
	f.Handler, err = httpfence.Gateway(httpfence.Upstream{URL: u, Transport: f.transport, Judge: func(resp *http.Response) httpfence.Verdict {
		return map[string]httpfence.Verdict{http.MethodPut: httpfence.Applied, http.MethodPatch: httpfence.NotApplied}[resp.Header.Get("Verdict")]
	}}, httpfence.Config{Door: f.door, Resource: byQuery})
	require.NoError(t, err)
	for range 2 {
		resp := f.send(http.MethodPatch, at(t, 10, 1))
		require.NoError(t, httpfence.Error(resp))
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
		require.Equal(t, "xxxxxxxxxx", text(t, resp))
	}
	require.Equal(t, http.StatusInternalServerError, f.send(http.MethodPut, at(t, 10, 1)).StatusCode)
	require.ErrorIs(t, httpfence.Error(f.send(http.MethodPut, at(t, 10, 1))), fencing.ErrDuplicate)
	require.EqualValues(t, 3, f.asked.Load())
	require.ErrorIs(t, httpfence.Error(f.send(http.MethodDelete, at(t, 10, 2))), fencing.ErrUnknownOutcome)
}

func TestAGatewayWantsADoorThatLasts(t *testing.T) {
	u := &url.URL{Scheme: "http", Host: "127.0.0.1:1"}
	memory, err := door.New(door.Options{Settle: time.Second})
	require.NoError(t, err)
	file, err := door.Open(filepath.Join(t.TempDir(), "door"), door.Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	for want, try := range map[string]func() error{
		"door.Open":        func() error { return gatewayError(u, memory, 0) },
		"Settle is 0":      func() error { return gatewayError(u, file, 0) },
		"Upstream.URL":     func() error { return gatewayError(&url.URL{Path: "/x"}, file, 0) },
		"Upstream.Timeout": func() error { return gatewayError(u, file, -1) },
	} {
		require.ErrorContains(t, try(), want)
	}
}

func gatewayError(u *url.URL, d *door.Door, timeout time.Duration) error {
	h, err := httpfence.Gateway(httpfence.Upstream{URL: u, Timeout: timeout}, httpfence.Config{Door: d, Resource: httpfence.One("r")})
	if h == nil && err == nil {
		return errors.New("neither")
	}
	return err
}
