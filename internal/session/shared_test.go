package session

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// sharing counts how often what is shared was begun and has ended.
type sharing struct {
	mu     sync.Mutex
	ends   []chan struct{} // of each that has begun: ends its run of itself
	causes []error         // of each that has ended: of its context
}

func (h *sharing) begin() (any, func(context.Context)) {
	end := make(chan struct{})
	h.ends = append(h.ends, end)
	return len(h.ends), func(ctx context.Context) {
		select {
		case <-ctx.Done():
		case <-end:
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.causes = append(h.causes, context.Cause(ctx))
	}
}

func (h *sharing) ended() []error {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.causes)
}

func TestWhatIsSharedLivesAsLongAsItsUsers(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		h := &sharing{}
		use := func(key string, want int) (release func()) {
			b.Helper()
			v, release, err := c.Share(key, h.begin)
			require.NoError(b, err)
			require.Equal(b, want, v)
			return release
		}
		first, second := use("k", 1), use("k", 1)
		other := use("another", 2)
		first()
		require.Empty(b, h.ended(), "somebody still uses it")
		second()
		require.Equal(b, []error{context.Canceled}, h.ended())
		third := use("k", 3)
		require.Len(b, h.ended(), 1, "the other key's is another")

		// One that has ended of itself is nobody's any more, and its last user's release
		// does not take the next one down.
		close(h.ends[2])
		require.Len(b, h.ended(), 2)
		fourth := use("k", 4)
		third()
		other()
		require.Len(b, h.ended(), 3, "the other key's")
		again := use("k", 4)
		again()

		b.close(c)
		require.Len(b, h.ended(), 4)
		require.ErrorIs(b, h.ended()[3], ErrClosed)
		fourth()
		require.Empty(b, c.shared)
		_, _, err := c.Share("k", h.begin)
		require.ErrorIs(b, err, ErrClosed)
		require.Len(b, h.ends, 4)
	})
}

func TestCloseWaitsForWhatIsShared(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		ended := false
		_, release, err := c.Share("k", func() (any, func(context.Context)) {
			return nil, func(ctx context.Context) {
				<-ctx.Done()
				time.Sleep(time.Minute)
				ended = true
			}
		})
		require.NoError(b, err)
		b.close(c)
		require.True(b, ended)
		release()
	})
}
