//go:build linux

package story_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
	"github.com/zkfence/zkfence/zklock"
)

// An operator deletes the nodes of waiters and holders: a waiter is told so and comes
// again, a hold is lost at once, and what the resource accepts never goes backwards.
func TestAnOperatorDeletesNodes(t *testing.T) {
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	s.dwell = 50 * time.Millisecond
	cycles := s.cycle("W1", "W2", "W3")
	operator := s.operator()
	n := times(10, 50)
	var deleted []history.Event // what their attempts had come to just before
	for i := range n {
		from := s.log.Len()
		of := s.await(from, "", []history.Kind{history.Enrolled, history.Granted}[i%2])
		node := s.nodeOf(of)
		// Who held with it may find out after the next one has been granted.
		s.log.Add(history.Event{At: worker.Now(), Kind: history.Fault, Reason: "node deleted", Node: node, Frees: true})
		err := operator.Delete(s.path+"/"+node, -1)
		s.fault(history.Healed, "node deleted", "")
		if !errors.Is(err, zk.ErrNoNode) { // given back before
			require.NoError(t, err)
			deleted = append(deleted, of)
			_, err = s.log.Await(s.within(), from, func(e history.Event) bool {
				return e.Worker == of.Worker && e.Attempt == of.Attempt && (e.Kind == history.Lost || e.Kind == history.Failed || e.Kind == history.Unlocking)
			})
			require.NoError(t, err, "%s finds out", of.Worker)
		}
		s.await(s.log.Len(), of.Worker, history.Granted)
	}
	s.halt(cycles)
	s.ended()

	lost, evicted := 0, 0
	for _, of := range deleted {
		switch end := s.endOf(of); end.Kind {
		case history.Lost:
			require.Contains(t, end.Reason, zklock.NodeDeleted.String())
			lost++
		case history.Failed:
			require.Contains(t, end.Reason, zklock.ErrEvicted.Error())
			evicted++
		}
	}
	require.Greater(t, lost, n/4, "holders have lost theirs")
	require.Greater(t, evicted, n/4, "waiters have lost theirs")
	require.Equal(t, lost, s.count("", history.Lost), "nobody else has lost anything")
	require.Equal(t, evicted, s.count("", history.Failed), "nobody else was sent away")
	t.Logf("%v; %d of %d nodes were deleted, %d of waiters", s, len(deleted), n, evicted)
}

// endOf is how an attempt has ended: lost, failed, or neither.
func (s *story) endOf(of history.Event) (end history.Event) {
	for _, e := range s.log.Events() {
		if e.Worker == of.Worker && e.Attempt == of.Attempt && (e.Kind == history.Lost || e.Kind == history.Failed) {
			end = e
		}
	}
	return end
}

// nodeOf is the node with which an attempt stands in line or was granted.
func (s *story) nodeOf(of history.Event) string {
	s.t.Helper()
	e, err := s.log.Await(s.within(), 0, func(e history.Event) bool {
		return e.Kind == history.Enrolled && e.Worker == of.Worker && e.Attempt == of.Attempt
	})
	require.NoError(s.t, err)
	return e.Node
}
