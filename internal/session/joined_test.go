package session

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// The answer to a watch comes on one connection, and the goroutine that asked is
// scheduled only on the next, where the zk.Conn has forgotten that watch. Whoever
// has joined it on the next would wait for an event that never comes.
func TestAWatchOfAnEarlierConnectionIsNotJoined(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		conn, next := s.Connection()
		e := &watchEntry{fired: make(chan struct{}), arming: make(chan struct{})}
		s.mu.Lock()
		s.watches[watchKey{path: "/n"}] = e
		s.mu.Unlock()
		b.server.Cut()
		<-next

		joined := make(chan *Watch)
		go func() {
			w, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			joined <- w
		}()
		synctest.Wait()
		s.watchArmed(watchKey{path: "/n"}, e, conn, sight{}, nil)
		w := <-joined
		require.NoError(b, b.server.Delete("/n"))
		b.fired(w)
		b.close(c)
	})
}
