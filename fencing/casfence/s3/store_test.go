package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence"
	"github.com/zkfence/zkfence/fencing/casfence/internal/lists"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shared is a store for several Guards.
func shared(s casfence.Store) fencetest.Store {
	return lists.Store(func() (lists.Guard, error) { return casfence.New(s) })
}

func TestKeepsTheRule(t *testing.T) {
	s := newServer(t)
	store := s.open(s.config())
	fencetest.Run(t, fencetest.Subject{New: func(fencetest.TB) fencetest.Store { return shared(store) }})
}

// One of ten writes is cut off, before it is done or after, or answered with an
// error, before or after.
func TestKeepsTheRuleOverABadNetwork(t *testing.T) {
	s := newServer(t)
	store := s.open(s.config())
	r := rand.New(rand.NewPCG(1, 2))
	s.suffer(func(q *http.Request) fault {
		if q.Method != http.MethodPut || r.IntN(10) > 0 {
			return none
		}
		return dropRequest + fault(r.IntN(int(conflict)))
	}, "")
	fencetest.Run(t, fencetest.Subject{New: func(fencetest.TB) fencetest.Store { return shared(store) }})
}

func TestIsAStore(t *testing.T) {
	srv := newServer(t)
	c := srv.config()
	c.Prefix = "deep/er/"
	s := srv.open(c)
	require.Empty(t, srv.objects, "what was tried with is gone")
	ctx := t.Context()
	for _, key := range []string{"a", "a b+c%2F:ü/'\"\\..", "../x", "objects/n-" + strings.Repeat("x", 512) + "/0x7fffffffffffffff:18446744073709551615-ABCDEFGHIJKLMNOPQRSTUVWXYZ"} {
		_, version, err := s.Get(ctx, key)
		require.NoError(t, err)
		require.Empty(t, version)
		_, err = s.Put(ctx, key, []byte("x"), `"0"`)
		require.ErrorIs(t, err, casfence.ErrConflict)
		first, err := s.Put(ctx, key, []byte("x"), "")
		require.NoError(t, err)
		_, err = s.Put(ctx, key, []byte("y"), "")
		require.ErrorIs(t, err, casfence.ErrConflict)
		second, err := s.Put(ctx, key, nil, first)
		require.NoError(t, err)
		_, err = s.Put(ctx, key, []byte("z"), first)
		require.ErrorIs(t, err, casfence.ErrConflict)
		value, version, err := s.Get(ctx, key)
		require.NoError(t, err)
		require.Empty(t, value)
		require.Equal(t, second, version)
		require.Contains(t, srv.objects, "deep/er/"+key)
	}

	var won atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			if _, err := s.Put(ctx, "race", []byte("x"), ""); err == nil {
				won.Add(1)
			} else if !errors.Is(err, casfence.ErrConflict) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, won.Load())
}

// On a server that takes conditions for decoration every writer wins.
func TestAServerThatIgnoresConditionsIsRefused(t *testing.T) {
	for _, header := range []string{"If-Match", "If-None-Match"} {
		s := newServer(t)
		s.deaf = header
		_, err := Open(t.Context(), s.config())
		require.ErrorContains(t, err, "ignores "+header)
	}
}

func TestAnswersAreTakenForWhatTheyAre(t *testing.T) {
	s := newServer(t)
	store := s.open(s.config())
	ctx := t.Context()
	for _, c := range []struct {
		name  string
		fault fault
	}{
		{"Dropped", dropRequest}, {"DoneAndDropped", dropReply}, {"InternalError", failBefore},
		{"DoneAndInternalError", failAfter}, {"SlowDown", throttle}, {"BeingDecided", conflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.suffer(func(*http.Request) fault { return c.fault }, "")
			_, err := store.Put(ctx, c.name, []byte("x"), "")
			s.suffer(nil, "")
			require.Error(t, err)
			require.NotErrorIs(t, err, casfence.ErrConflict)
			require.NotErrorIs(t, err, casfence.ErrNotWritten)
		})
	}
	t.Run("NotAllowed", func(t *testing.T) {
		c := s.config()
		c.Credentials = Static(accessKey, "wrong")
		_, err := Open(ctx, c)
		require.ErrorIs(t, err, casfence.ErrNotWritten)
		require.ErrorContains(t, err, "SignatureDoesNotMatch")
		var answer *Error
		require.ErrorAs(t, err, &answer)
		require.Equal(t, http.StatusForbidden, answer.Status)
	})
	t.Run("NoBucket", func(t *testing.T) {
		c := s.config()
		c.Bucket = "missing"
		_, err := Open(ctx, c)
		require.ErrorIs(t, err, casfence.ErrNotWritten)
		store := *store
		store.config.Bucket = "missing"
		_, _, err = store.Get(ctx, "a")
		require.ErrorContains(t, err, "NoSuchBucket", "a missing bucket is not an empty one")
	})
	t.Run("NoCredentials", func(t *testing.T) {
		c := s.config()
		errNone := errors.New("no role")
		c.Credentials = func(context.Context) (Credentials, error) { return Credentials{}, errNone }
		_, err := Open(ctx, c)
		require.ErrorIs(t, err, errNone)
	})
	t.Run("TemporaryCredentials", func(t *testing.T) {
		s.suffer(nil, "for an hour")
		defer s.suffer(nil, "")
		c := s.config()
		c.Credentials = func(context.Context) (Credentials, error) {
			return Credentials{accessKey, secretKey, "for an hour"}, nil
		}
		s.open(c)
	})
	// A redirect followed by the client would be a PUT signed for another host, or
	// one without its condition.
	t.Run("Elsewhere", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, s.URL+r.RequestURI, http.StatusTemporaryRedirect)
		}))
		defer other.Close()
		c := s.config()
		c.Endpoint = other.URL
		c.Client = other.Client()
		_, err := Open(ctx, c)
		require.ErrorContains(t, err, "status 307")
	})
	t.Run("OfAProxy", func(t *testing.T) {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "bad gateway", http.StatusBadGateway)
		}))
		defer other.Close()
		c := s.config()
		c.Endpoint = other.URL
		c.Client = other.Client()
		_, err := Open(ctx, c)
		require.ErrorContains(t, err, "bad gateway")
		require.NotErrorIs(t, err, casfence.ErrNotWritten)
	})
}

func TestAConfigIsRefusedByName(t *testing.T) {
	good := Config{Endpoint: "http://127.0.0.1:1", Bucket: "b", Region: "r", Credentials: Static("a", "b")}
	for want, spoil := range map[string]func(*Config){
		"endpoint":    func(c *Config) { c.Endpoint = "127.0.0.1:9000" },
		"https":       func(c *Config) { c.Endpoint = "http://h/bucket" },
		"bucket":      func(c *Config) { c.Bucket = "" },
		"region":      func(c *Config) { c.Region = "" },
		"credentials": func(c *Config) { c.Credentials = nil },
		"prefix":      func(c *Config) { c.Prefix = "x" },
	} {
		c := good
		spoil(&c)
		_, err := Open(t.Context(), c)
		require.ErrorContains(t, err, want)
	}
}

// Two commands share a context, which ends with what one was answered while the other's
// pointer is under way.
func TestTheEndOfAContextIsNoAnswer(t *testing.T) {
	newest, err := fencing.FromUint64(10)
	require.NoError(t, err)
	for _, cause := range []error{casfence.ErrNotWritten, casfence.ErrConflict, &fencing.StaleError{Resource: "another"}} {
		srv := newServer(t)
		g, err := casfence.New(srv.open(srv.config()))
		require.NoError(t, err)
		ctx, cancel := context.WithCancelCause(t.Context())
		under := make(chan struct{})
		t.Cleanup(sync.OnceFunc(func() { close(under) })) // before the server's end
		srv.suffer(func(r *http.Request) fault {
			if r.Method != http.MethodPut || !strings.Contains(r.URL.Path, "pointers/") {
				return none
			}
			cancel(fmt.Errorf("a sibling: %w", cause))
			<-under // it is applied when nobody waits for it any more
			return none
		}, "")
		err = g.Raise(ctx, "r", newest)
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, cause)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "a sibling: ")
	}
}
