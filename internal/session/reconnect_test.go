package session

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// A server answered handshakes and closed the connection at the first request, and
// its clients, who took each handshake for success, dialled it again at once: as
// often as the network allowed, all of them.
func TestAServerThatClosesAtTheFirstRequestIsNotHammered(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		defer s.Keep()()
		require.NoError(b, b.server.Create("/n", nil))
		time.Sleep(testTimeout)
		watched := make(chan struct{})
		go func() { // as holders and waiters do, on each new connection
			defer close(watched)
			for s.Err() == nil {
				_, next := s.Connection()
				_, _ = s.Watch(b.Context(), "/n") // either way the next connection is a reason to ask again
				select {
				case <-next:
				case <-s.Context().Done():
				}
			}
		}()
		b.server.ResetCounts()
		b.server.DropRequest(zktest.AnyOp, -1)
		b.server.Cut()
		time.Sleep(testTimeout / 2)
		dials := b.server.Count(zktest.OpCreateSession)
		require.LessOrEqual(b, dials, 64+8)
		require.GreaterOrEqual(b, dials, 16, "it may be well again at any moment")
		require.NoError(b, s.Err())
		b.server.Heal()
		time.Sleep(testTimeout / 16)
		require.False(b, s.Suspect())
		require.Equal(b, 1, b.server.Watches())
		b.close(c)
		<-watched
	})
}

func TestAConnectionThatHasStoodIsReplacedAtOnce(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		for range 20 {
			time.Sleep(testTimeout / 32)
			_, next := s.Connection()
			begun := time.Now()
			b.server.Cut()
			<-next
			require.Less(b, time.Since(begun), 10*time.Millisecond)
		}
		b.close(c)
	})
}
