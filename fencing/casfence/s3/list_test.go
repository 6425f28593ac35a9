package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence"
)

func keys(t *testing.T, s *Store, prefix string) (all []string) {
	t.Helper()
	listed, err := s.List(t.Context(), prefix)
	require.NoError(t, err)
	for _, l := range listed {
		require.Equal(t, time.Date(2026, 11, 30, 8, 0, 0, 0, time.UTC), l.Modified)
		all = append(all, l.Key)
	}
	return all
}

func TestAListHasAllPagesAndWhatIsBelowThePrefixAlone(t *testing.T) {
	srv := newServer(t)
	for _, raw := range []bool{false, true} {
		srv.page, srv.raw = 3, raw
		s := srv.open(srv.config())
		want := []string{}
		for i := range 10 {
			want = append(want, fmt.Sprintf("d/ a+b%%2F:ü&=/'\"-%d", i))
		}
		if !raw {
			want = append(want, "d/\x01") // of which XML knows nothing
		}
		slices.Sort(want)
		for _, key := range append([]string{"d", "e/0"}, want...) {
			_, version, err := s.Get(t.Context(), key)
			require.NoError(t, err)
			_, err = s.Put(t.Context(), key, []byte(key), version)
			require.NoError(t, err)
		}
		require.Equal(t, want, keys(t, s, "d/"))
		for _, key := range want[1:] {
			require.NoError(t, s.Delete(t.Context(), key))
			require.NoError(t, s.Delete(t.Context(), key), "gone already")
		}
		require.Equal(t, want[:1], keys(t, s, "d/"))
		require.NoError(t, s.Delete(t.Context(), want[0]))
		require.Empty(t, keys(t, s, "d/"))
		require.Equal(t, []string{"e/0"}, keys(t, s, "e/"))
	}
}

func TestAListThatIsNoneIsAnError(t *testing.T) {
	const open = `<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`
	answers := map[string]string{
		"below":    open + `<Contents><Key>fenced/other/x</Key></Contents></ListBucketResult>`,
		"where":    open + `<IsTruncated>true</IsTruncated></ListBucketResult>`,
		"no list":  `fine`,
		"key":      open + `<EncodingType>url</EncodingType><Contents><Key>fenced/d/%zz</Key></Contents></ListBucketResult>`,
		"is short": open + `<Contents><Key>fenced/d/x</Key></Contents>`,
	}
	wants := map[string]string{"is short": "no list"}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
			defer srv.Close()
			good := newServer(t)
			s := *good.open(good.config())
			s.client = srv.Client()
			base := *s.base
			base.Host = strings.TrimPrefix(srv.URL, "http://")
			s.base = &base
			all, err := s.List(t.Context(), "d/")
			want := name
			if wants[name] != "" {
				want = wants[name]
			}
			require.ErrorContains(t, err, want)
			require.Empty(t, all)
		})
	}
	t.Run("of somebody without permission", func(t *testing.T) {
		srv := newServer(t)
		s := srv.open(srv.config())
		s.config.Credentials = Static(accessKey, "wrong")
		_, err := s.List(t.Context(), "d/")
		require.ErrorContains(t, err, "SignatureDoesNotMatch")
		require.ErrorContains(t, s.Delete(t.Context(), "d/x"), "SignatureDoesNotMatch")
	})
}

// Three owners write one after the other, and a sweep removes everything
// that no pointer names, all the time. Whatever was published last can be read.
func TestSweepsBesideWriters(t *testing.T) {
	srv := newServer(t)
	srv.page = 2
	store := srv.open(srv.config())
	guard := func() *casfence.Guard {
		g, err := casfence.New(store)
		require.NoError(t, err)
		return g
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sweeper sync.WaitGroup
	removed := 0
	sweeping := guard()
	sweeper.Go(func() {
		for ctx.Err() == nil {
			n, err := sweeping.Sweep(context.WithoutCancel(ctx), "r", 0)
			if err != nil && !errors.Is(err, fencing.ErrUnknownOutcome) && !strings.Contains(err.Error(), "try again") {
				t.Error(err)
				return
			}
			removed += n
		}
	})
	for token := range uint64(3) {
		g := guard()
		newest, err := fencing.FromUint64(token + 1)
		require.NoError(t, err)
		for q := fencing.NewSequencer(newest); ; {
			s := q.Next()
			if s.Seq > 30 {
				break
			}
			build := func(context.Context) ([]byte, error) { return []byte(s.String()), nil }
			err := g.Publish(t.Context(), "r", s, build)
			for range 50 { // sweeps are in the way
				if err == nil || errors.Is(err, fencing.ErrDuplicate) {
					break
				}
				err = g.Publish(t.Context(), "r", s, build)
			}
			if !errors.Is(err, fencing.ErrDuplicate) {
				require.NoError(t, err)
			}
			content, last, err := g.Get(t.Context(), "r")
			require.NoError(t, err)
			require.Equal(t, s, last)
			require.Equal(t, s.String(), string(content))
		}
	}
	cancel()
	sweeper.Wait()
	_, err := sweeping.Sweep(t.Context(), "r", 0)
	require.NoError(t, err)
	require.Positive(t, removed, "some while they wrote")
	require.Len(t, keys(t, store, "objects/"), 1)
}
