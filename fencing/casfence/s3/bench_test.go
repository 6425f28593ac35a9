package s3

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence"
)

// A guarded object against a plain PUT of the same: one request more, the pointer's.
func BenchmarkPublish(b *testing.B) {
	s := newServer(b)
	store := s.open(s.config())
	content := bytes.Repeat([]byte("x"), 4<<10)
	b.Run("Guarded", func(b *testing.B) {
		g, err := casfence.New(store)
		require.NoError(b, err)
		q := fencing.NewSequencer(token(b, 7))
		for b.Loop() {
			require.NoError(b, g.Publish(b.Context(), b.Name(), q.Next(), func(context.Context) ([]byte, error) { return content, nil }))
		}
	})
	b.Run("Bare", func(b *testing.B) {
		for b.Loop() {
			r, err := store.send(b.Context(), http.MethodPut, "bare", nil, content)
			require.NoError(b, err)
			require.NoError(b, r.Body.Close())
			require.Equal(b, http.StatusOK, r.StatusCode)
		}
	})
}

func token(t testing.TB, n uint64) fencing.Token {
	t.Helper()
	tok, err := fencing.FromUint64(n)
	require.NoError(t, err)
	return tok
}
