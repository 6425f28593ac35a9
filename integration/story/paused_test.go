//go:build linux

package story_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// pausedHolder is stopped between what it reads and what it writes, for longer
// than its session lives; another publishes meanwhile. It returns the story, to be
// ended, and the answer to the first one's late write.
func pausedHolder(t *testing.T, guarded bool) (*story, history.Answer) {
	s := newStory(t, shared.Three(t), 3*time.Second, guarded)
	w1, w2 := s.start("W1"), s.start("W2")
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	s.must(w1, worker.Write, "first")
	require.Equal(t, "first", s.must(w1, worker.Read).Value)
	waiting := s.begin(w2, worker.Lock)
	s.await(0, "W2", history.Enrolled)

	require.NoError(t, w1.Stop())
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	s.must(w2, worker.Raise)
	require.Equal(t, "first", s.must(w2, worker.Read).Value)
	require.True(t, s.must(w2, worker.Write, "published").OK)

	from, continued := s.log.Len(), worker.Now()
	require.NoError(t, w1.Continue())
	late := s.must(w1, worker.Write, "late")
	s.await(from, "W1", history.Lost)
	// It learns of it from its own clock: no new promise was made to it.
	require.False(t, slices.ContainsFunc(s.log.Events(), func(e history.Event) bool {
		return e.Worker == "W1" && e.Kind == history.Belief && e.At >= continued
	}))
	return s, late
}

// Sequences 1 to 3: a holder pauses after reading, its session expires, another
// publishes, and the late write is refused with both stamps known.
func TestALateWriteOfAPausedHolderIsRefused(t *testing.T) {
	s, late := pausedHolder(t, true)
	require.False(t, late.OK)
	value, last := s.store.Value()
	require.Equal(t, "published", value)
	require.Equal(t, last, late.Last)

	// And W1 can hold again, behind W2.
	w1, w2 := s.workers[0], s.workers[1]
	_, err := w1.Do(s.within(), worker.Unlock, "")
	require.ErrorContains(t, err, "lost")
	again := s.begin(w1, worker.Lock)
	s.must(w2, worker.Unlock)
	_, err = again.Wait(s.within())
	require.NoError(t, err)
	require.True(t, s.must(w1, worker.Write, "third").OK)
	s.ended()
	require.Equal(t, 3, s.count("", history.Granted))
	require.Equal(t, 3, s.count("", history.Accepted))
	require.Equal(t, 1, s.count("", history.Lost))
}

// The same without a guard: the history shows what the lock cannot prevent.
func TestWithoutAGuardTheHistoryGoesBackwards(t *testing.T) {
	s, late := pausedHolder(t, false)
	require.True(t, late.OK)
	value, _ := s.store.Value()
	require.Equal(t, "late", value)
	var broken []history.Rule
	for _, v := range s.end() {
		broken = append(broken, v.Rule)
	}
	require.ElementsMatch(t, []history.Rule{history.Backwards, history.NotLinearizable}, broken)
}
