package session

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// Two thousand waiters on one connection each listed two thousand names as they
// queued up, and the proofs of a hold on it stood behind all that until it was
// lost.
func TestACrowdSharesItsLists(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n/x", nil))
		var failed atomic.Int32
		var crowd sync.WaitGroup
		for range 1000 {
			crowd.Go(func() {
				if names, err := s.Children(b.Context(), "/n"); err != nil || len(names) != 1 {
					failed.Add(1)
				}
			})
		}
		crowd.Wait()
		require.Zero(b, failed.Load())
		require.LessOrEqual(b, b.server.Count(zktest.OpGetChildren2), 2)
		synctest.Wait() // who lists forgets it after all have been told
		require.Empty(b, s.listers)
		b.close(c)
	})
}

// Whoever asks has done something that the list must show: one that was begun
// before is no answer.
func TestAListIsBegunAfterItWasAskedFor(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n/first", nil))
		listed, created := make(chan struct{}), make(chan struct{})
		b.server.AtReply(zktest.OpGetChildren2, func(zktest.Request) {
			close(listed)
			<-created
		})
		early := s.StartChildren("/n")
		<-listed
		require.NoError(b, b.server.Create("/n/second", nil))
		late, later := s.StartChildren("/n"), s.StartChildren("/n")
		close(created)
		names, err := Await(b.Context(), s, early)
		require.NoError(b, err)
		require.Equal(b, []string{"first"}, names)
		for _, p := range []*Pending[[]string]{late, later} {
			names, err := Await(b.Context(), s, p)
			require.NoError(b, err)
			require.Equal(b, []string{"first", "second"}, names)
		}
		require.Equal(b, 2, b.server.Count(zktest.OpGetChildren2))
		b.close(c)
	})
}

func TestAListThatFailsFailsNobodyWhoAskedForTheNext(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n/x", nil))
		b.server.DropReply(zktest.OpGetChildren2, 1)
		early, late := s.StartChildren("/n"), s.StartChildren("/n")
		_, err := Await(b.Context(), s, early)
		require.Error(b, err)
		time.Sleep(testTimeout / 4)
		names, err := Await(b.Context(), s, late)
		require.NoError(b, err)
		require.Equal(b, []string{"x"}, names)
		b.close(c)
	})
}
