package session

import (
	"testing"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

func TestWatchesAreSharedAndEndWithTheirNode(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		_, err := s.Watch(b.Context(), "/none")
		require.ErrorIs(b, err, zk.ErrNoNode)
		before := b.server.Count(zktest.OpGetData)
		first, err := s.Watch(b.Context(), "/n")
		require.NoError(b, err)
		for range 1000 {
			w, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, first.Fired(), w.Fired())
		}
		require.Equal(b, 1, b.server.Count(zktest.OpGetData)-before)
		require.Equal(b, 1, b.server.Watches())

		_, reconnected := s.Connection()
		b.server.Cut()
		<-reconnected
		again, err := s.Watch(b.Context(), "/n")
		require.NoError(b, err)
		require.NoError(b, b.server.Delete("/n"))
		b.fired(first)
		b.fired(again)
		require.True(b, first.Deleted())
		require.True(b, again.Deleted())
		require.Empty(b, s.watches)
		b.close(c)
	})
}
