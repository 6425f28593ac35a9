package session

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// silent fails the test if the watch has fired.
func (b *bench) silent(w *Watch) {
	b.Helper()
	time.Sleep(100 * time.Millisecond)
	synctest.Wait()
	select {
	case <-w.Fired():
		b.Fatal("the watch has fired")
	default:
	}
}

// Each kind of watch fires for what it waits for, and for nothing else that
// happens at the same path.
func TestEachKindOfWatchFiresForItsOwnChange(t *testing.T) {
	set := func(b *bench, s *Session, data string) {
		_, err := Call(b.Context(), s, func(c *zk.Conn) (*zk.Stat, error) { return c.Set("/n", []byte(data), -1) })
		require.NoError(b, err)
	}

	t.Run("ANodesData", func(t *testing.T) {
		virtually(t, func(b *bench) {
			s := b.session(b.dial("a"))
			require.NoError(b, b.server.Create("/n", []byte("one")))
			w, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, "one", string(w.Data()))
			require.NoError(b, b.server.Create("/n/child", nil))
			b.silent(w)
			set(b, s, "two")
			b.fired(w)
			require.False(b, w.Deleted())
			require.Equal(b, "one", string(w.Data()), "as of arming")
			w, err = s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, "two", string(w.Data()))
		})
	})

	t.Run("ANodesChildren", func(t *testing.T) {
		virtually(t, func(b *bench) {
			s := b.session(b.dial("a"))
			_, err := s.WatchChildren(b.Context(), "/n")
			require.ErrorIs(b, err, zk.ErrNoNode)
			require.Empty(b, s.watches)
			require.NoError(b, b.server.Create("/n/one", nil))
			w, err := s.WatchChildren(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, []string{"one"}, w.Children())
			set(b, s, "data")
			b.silent(w)
			require.NoError(b, b.server.Create("/n/two", nil))
			b.fired(w)
			require.False(b, w.Deleted())
			require.Equal(b, []string{"one"}, w.Children(), "as of arming")
			w, err = s.WatchChildren(b.Context(), "/n")
			require.NoError(b, err)
			require.ElementsMatch(b, []string{"one", "two"}, w.Children())
			require.NoError(b, b.server.Delete("/n"))
			b.fired(w)
			require.Empty(b, s.watches)
		})
	})

	t.Run("ANodesBirth", func(t *testing.T) {
		virtually(t, func(b *bench) {
			s := b.session(b.dial("a"))
			w, err := s.WatchBirth(b.Context(), "/n")
			require.NoError(b, err)
			require.NoError(b, b.server.Create("/other", nil))
			b.silent(w)
			require.NoError(b, b.server.Create("/n", nil))
			b.fired(w)
			require.False(b, w.Deleted())
			require.Empty(b, s.watches)
			w, err = s.WatchBirth(b.Context(), "/n")
			require.NoError(b, err)
			require.Nil(b, w, "it is there")
			require.Empty(b, s.watches)
		})
	})

	t.Run("AllOfOnePath", func(t *testing.T) {
		virtually(t, func(b *bench) {
			s := b.session(b.dial("a"))
			require.NoError(b, b.server.Create("/n", nil))
			data, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			children, err := s.WatchChildren(b.Context(), "/n")
			require.NoError(b, err)
			set(b, s, "x")
			b.fired(data)
			b.silent(children)
			require.NoError(b, b.server.Create("/n/x", nil))
			b.fired(children)
		})
	})
}

func TestChildrenAndBirthsAreSharedToo(t *testing.T) {
	virtually(t, func(b *bench) {
		s := b.session(b.dial("a"))
		require.NoError(b, b.server.Create("/n", nil))
		before := b.server.Count(zktest.AnyOp)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, err := s.WatchChildren(b.Context(), "/n")
				require.NoError(b, err)
				_, err = s.WatchBirth(b.Context(), "/m")
				require.NoError(b, err)
				w, err := s.WatchBirth(b.Context(), "/n")
				require.NoError(b, err)
				require.Nil(b, w, "it is there")
			})
		}
		wg.Wait()
		require.Equal(b, 3, b.server.Count(zktest.AnyOp)-before)
		require.Equal(b, 3, b.server.Watches(), "what is there is watched as well, for nobody")
	})
}

// After a reconnect each is armed again, by whoever looks again, and once.
func TestChildrenAndBirthsAreWatchedAgainOnTheNextConnection(t *testing.T) {
	virtually(t, func(b *bench) {
		s := b.session(b.dial("a"))
		require.NoError(b, b.server.Create("/n", nil))
		arm := func() (children, birth *Watch) {
			children, err := s.WatchChildren(b.Context(), "/n")
			require.NoError(b, err)
			birth, err = s.WatchBirth(b.Context(), "/m")
			require.NoError(b, err)
			return children, birth
		}
		oldChildren, oldBirth := arm()
		for range 3 {
			_, reconnected := s.Connection()
			b.server.Cut()
			<-reconnected
			time.Sleep(50 * time.Millisecond)
			require.Zero(b, b.server.Watches(), "the client library asks for none of itself")
			arm()
			require.Equal(b, 2, b.server.Watches())
		}
		children, birth := arm()
		require.NoError(b, b.server.Create("/n/x", nil))
		require.NoError(b, b.server.Create("/m", nil))
		for _, w := range []*Watch{oldChildren, oldBirth, children, birth} {
			b.fired(w)
		}
		require.Empty(b, s.watches)
	})
}

// The node was born while nobody was connected. Whoever waits for it on the old
// connection is told when anybody asks again, and nothing is kept of the wait.
func TestABirthDuringAnOutageIsToldToWhoStillWaits(t *testing.T) {
	virtually(t, func(b *bench) {
		s := b.session(b.dial("a"))
		waiting, err := s.WatchBirth(b.Context(), "/m")
		require.NoError(b, err)
		_, reconnected := s.Connection()
		b.server.Refuse(true)
		b.server.Cut()
		require.NoError(b, b.server.Create("/m", nil))
		b.server.Refuse(false)
		<-reconnected
		w, err := s.WatchBirth(b.Context(), "/m")
		require.NoError(b, err)
		require.Nil(b, w)
		b.fired(waiting)
		require.False(b, waiting.Deleted())
		require.Empty(b, s.watches)
	})
}
