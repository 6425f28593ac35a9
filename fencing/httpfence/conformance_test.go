package httpfence_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/httpfence"
)

// service appends entries to lists, and knows nothing of Stamps.
type service struct {
	mu    sync.Mutex
	lists map[string][]string
	calls sync.Map // number -> ctx of the test's call, by which it is paused
}

func newService() *service { return &service{lists: make(map[string][]string)} }

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if n, err := strconv.ParseInt(r.Header.Get("Test-Call"), 10, 64); err == nil {
		if c, ok := s.calls.Load(n); ok {
			ctx = c.(context.Context)
		}
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	name := r.URL.Query().Get("r")
	fencetest.Pause(ctx)
	if r.URL.Query().Has("fail") {
		fencetest.Pause(ctx)
		http.Error(w, fencetest.ErrCommand.Error(), http.StatusUnprocessableEntity)
		return
	}
	s.mu.Lock()
	s.lists[name] = append(s.lists[name], string(body))
	s.mu.Unlock()
	fencetest.Pause(ctx)
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprint(w, r.URL.Query().Get("outcome"))
}

func (s *service) entries(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lists[resource])
}

func byQuery(r *http.Request) (string, error) { return r.URL.Query().Get("r"), nil }

// site is the service behind a guard.
type site struct {
	*service
	fencetest.TB
	door  *door.Door
	front *httptest.Server
	next  atomic.Int64
	start func(*site) (*door.Door, http.Handler)
}

func (s *site) Restart(context.Context) error {
	if s.front != nil {
		s.front.Close()
		if err := s.door.Close(); err != nil {
			return err
		}
	}
	var h http.Handler
	s.door, h = s.start(s)
	s.front = httptest.NewServer(h)
	return nil
}

func newSite(t fencetest.TB, start func(*site) (*door.Door, http.Handler)) *site {
	s := &site{service: newService(), TB: t, start: start}
	if err := s.Restart(t.Context()); err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		s.front.Close()
		if err := s.door.Close(); err != nil {
			t.Errorf("%v", err)
		}
	})
	return s
}

// owner is a client of the site.
type owner struct {
	*site
	transport *http.Transport
	client    *http.Client
}

func (s *site) Open(context.Context) (fencetest.Guard, error) {
	transport := &http.Transport{}
	return &owner{s, transport, &http.Client{Transport: httpfence.Transport{Base: transport}}}, nil
}

func (o *owner) Close() error {
	o.transport.CloseIdleConnections()
	return nil
}

func (o *owner) at(resource string, more url.Values) string {
	q := url.Values{"r": {resource}}
	for k, v := range more {
		q[k] = v
	}
	return o.front.URL + "/append?" + q.Encode()
}

func (o *owner) Do(ctx context.Context, c fencetest.Command) (string, error) {
	n := o.next.Add(1)
	o.calls.Store(n, ctx)
	more := url.Values{"outcome": {c.Outcome}}
	if c.Fail {
		more.Set("fail", "yes")
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.at(c.Resource, more), strings.NewReader(c.Entry))
	if err != nil {
		return "", err
	}
	r.Header.Set("Test-Call", strconv.FormatInt(n, 10))
	// What Transport would refuse to send is sent all the same: the guard is judged.
	client := &http.Client{Transport: o.transport}
	if c.Stamp.Token.IsZero() || c.Stamp.Seq == 0 || c.OpID != "" && fencing.ValidateOpID(c.OpID) != nil {
		r.Header.Set(httpfence.StampHeader, c.Stamp.String())
		if c.OpID != "" {
			r.Header.Set(httpfence.OpHeader, url.PathEscape(c.OpID))
		}
	} else {
		client = o.client
		ctx = fencing.WithStamp(ctx, c.Stamp)
		if c.OpID != "" {
			ctx = httpfence.WithOpID(ctx, c.OpID)
		}
		r = r.WithContext(ctx)
	}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	resp.Body = io.NopCloser(strings.NewReader(string(body)))
	if err := httpfence.Error(resp); err != nil {
		return "", fencing.Named(c.Resource, err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s: %s", resp.Status, body)
	}
	return string(body), nil
}

func (o *owner) Raise(ctx context.Context, resource string, t fencing.Token) error {
	return httpfence.Raise(ctx, o.client, o.at(resource, nil), t)
}

func (o *owner) Read(_ context.Context, resource string) ([]string, fencing.Stamp, error) {
	return o.entries(resource), o.door.Last(resource), nil
}

func (o *owner) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	return o.door.Override(ctx, resource, to, who, why)
}

func (o *owner) Overrides(_ context.Context, resource string) ([]fencing.Override, error) {
	return o.door.Overrides(resource), nil
}

// guarded runs the service in the guard's process.
func guarded(t fencetest.TB) fencetest.Store {
	return newSite(t, func(s *site) (*door.Door, http.Handler) {
		d, err := door.New(door.Options{})
		require.NoError(t, err)
		h, err := httpfence.Guard(s.service, httpfence.Config{Door: d, Resource: byQuery})
		require.NoError(t, err)
		return d, h
	})
}

// behindAGateway runs it elsewhere.
func behindAGateway(t fencetest.TB) fencetest.Store {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	path := filepath.Join(t.TempDir(), "door")
	upstream := httptest.NewUnstartedServer(nil)
	s := newSite(t, func(s *site) (*door.Door, http.Handler) {
		if upstream.Config.Handler == nil {
			upstream.Config.Handler = s.service
			upstream.Start()
		}
		return gateway(t, path, upstream.URL, transport)
	})
	t.Cleanup(upstream.Close)
	return s
}

func gateway(t require.TestingT, path, upstream string, transport http.RoundTripper) (*door.Door, http.Handler) {
	d, err := door.Open(path, door.Options{Settle: time.Minute})
	require.NoError(t, err)
	u, err := url.Parse(upstream)
	require.NoError(t, err)
	h, err := httpfence.Gateway(httpfence.Upstream{URL: u, Transport: transport}, httpfence.Config{Door: d, Resource: byQuery})
	require.NoError(t, err)
	return d, h
}

func TestAGuardKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: guarded, NoRestart: true, OpIDs: true})
}

func TestAGatewayKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: behindAGateway, OpIDs: true})
}
