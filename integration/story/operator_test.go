//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// An operator deletes the nodes of waiters and holders: a waiter comes again, a
// hold is lost at once, and what the resource accepts never goes backwards.
func TestAnOperatorDeletesNodes(t *testing.T) {
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	s.dwell = 50 * time.Millisecond
	cycles := s.cycle("W1", "W2", "W3")
	operator := s.operator()
	for i := range times(10, 50) {
		from := s.log.Len()
		node := s.await(from, "", history.Enrolled).Node
		if i%2 == 1 {
			node = s.nodeOf(s.await(from, "", history.Granted))
		}
		// Who held with it may find out after the next one has been granted.
		s.log.Add(history.Event{At: worker.Now(), Kind: history.Fault, Reason: "node deleted", Node: node, Frees: true})
		err := operator.Delete(s.path+"/"+node, -1)
		s.fault(history.Healed, "node deleted", "")
		if err == nil && i%2 == 1 {
			s.await(from, "", history.Lost)
		}
		s.await(from, "", history.Granted)
	}
	s.halt(cycles)
	s.ended()
	require.NotZero(t, s.count("", history.Lost))
	t.Log(s)
}

// nodeOf is the node with which a hold was granted.
func (s *story) nodeOf(granted history.Event) string {
	s.t.Helper()
	e, err := s.log.Await(s.within(), 0, func(e history.Event) bool {
		return e.Kind == history.Enrolled && e.Worker == granted.Worker && e.Attempt == granted.Attempt
	})
	require.NoError(s.t, err)
	return e.Node
}
