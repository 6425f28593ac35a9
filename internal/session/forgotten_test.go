package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Nodes that go while the client is away, with those who watched them, have no
// event: a session that lives through many outages must not remember them all.
func TestWatchesThatNobodyArmsAgainAreForgotten(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		for round := range 8 {
			for i := range 50 {
				node := fmt.Sprintf("/n-%d-%d", round, i)
				require.NoError(b, b.server.Create(node, nil))
				_, err := s.Watch(b.Context(), node)
				require.NoError(b, err)
			}
			_, next := s.Connection()
			b.server.Cut()
			for i := range 50 {
				require.NoError(b, b.server.Delete(fmt.Sprintf("/n-%d-%d", round, i)))
			}
			<-next
			time.Sleep(testTimeout / 16)
		}
		s.mu.Lock()
		kept := len(s.watches)
		s.mu.Unlock()
		require.LessOrEqual(b, kept, 50)
		b.close(c)
	})
}
