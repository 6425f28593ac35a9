//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// leads starts workers that stand for election, until halt.
func (s *story) leads(names ...string) (leads []*worker.Pending) {
	s.t.Helper()
	for _, name := range names {
		leads = append(leads, s.begin(s.start(name), worker.Lead))
	}
	return leads
}

// A leader is stopped in the middle of its term, another leads and commands, and
// the first learns of its loss when it goes on, stands again, and leads again.
func TestAPausedLeaderIsSucceededAndLeadsAgain(t *testing.T) {
	s := newStory(t, shared.Three(t), 3*time.Second, true)
	s.elects(200 * time.Millisecond)
	leads := s.leads("W1", "W2")
	w1 := s.workers[0]
	s.await(0, "W2", history.Enrolled)
	s.await(s.log.Len(), "W1", history.Granted)

	from := s.log.Len()
	require.NoError(t, w1.Stop())
	s.await(from, "W2", history.Granted)
	s.await(s.log.Len(), "", history.Accepted)
	from = s.log.Len()
	require.NoError(t, w1.Continue())
	s.await(from, "W1", history.Lost)
	again := s.await(s.log.Len(), "W1", history.Granted)
	_, err := s.log.Await(s.within(), from, func(e history.Event) bool {
		return e.Kind == history.Released && e.Worker == "W1" && e.Attempt == again.Attempt
	})
	require.NoError(t, err, "its second term goes on to its end")
	for i, d := range s.halt(leads) {
		require.NotZero(t, d.Cycles, "%s has resigned a term", s.workers[i].Name())
	}
	s.ended()
	require.Equal(t, 1, s.count("", history.Lost))
	t.Log(s)
}
