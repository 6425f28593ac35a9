//go:build linux

package story_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
	"github.com/zkfence/zkfence/zktest"
)

// count is how many requests of a kind have come by any way of the route.
func count(s *story, r *ensemble.Route, op zktest.Op) (n int) {
	for i := range s.ens.Servers() {
		n += r.Proxy(i + 1).Count(op)
	}
	return n
}

func dropReplies(s *story, r *ensemble.Route, op zktest.Op) {
	s.fault(history.Fault, "replies lost", "W1")
	for i := range s.ens.Servers() {
		r.Proxy(i+1).DropReply(op, 1)
	}
}

// carrier is closed at the end of the connection by which the first request of a kind
// has come: whatever was on its way there has arrived, or never will.
func (s *story) carrier(r *ensemble.Route, op zktest.Op) (gone <-chan struct{}) {
	s.t.Helper()
	closed := make(chan struct{})
	var once sync.Once
	for i := range s.ens.Servers() {
		carries := 0
		s.t.Cleanup(r.Proxy(i + 1).Follow(func(e zktest.Entry) {
			switch {
			case e.Kind == zktest.Asked && e.Op == op && carries == 0:
				carries = e.Conn
			case e.Kind == zktest.Closed && e.Conn == carries:
				once.Do(func() { close(closed) })
			}
		}))
	}
	return closed
}

// Sequence 4: the node is created, the reply is lost, and the retry finds it.
func TestALostAcquisitionReplyLeavesOneNode(t *testing.T) {
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	route := s.ens.Route(t)
	w1, w2 := s.start("W1", route.Addrs()...), s.start("W2")
	s.must(w2, worker.Lock)
	dropReplies(s, route, zktest.OpCreate)
	waiting := s.begin(w1, worker.Lock)
	s.await(0, "W1", history.Enrolled)
	require.Equal(t, 2, count(s, route, zktest.OpCreateSession), "it had to connect again")
	require.Equal(t, 1, count(s, route, zktest.OpCreate), "it has found what it had created")
	s.fault(history.Healed, "replies lost", "W1")
	route.Heal()
	s.must(w2, worker.Unlock)
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	require.True(t, s.must(w1, worker.Write, "w1").OK)
	s.must(w1, worker.Unlock)
	s.ended()
	require.Equal(t, 1, s.count("W1", history.Enrolled))
}

// Sequence 5: a release that is still on its way when its session has ended does
// nothing to those who hold after it.
func TestALateReleaseHarmsNoLaterHold(t *testing.T) {
	s := newStory(t, shared.Three(t), 3*time.Second, true)
	route := s.ens.Route(t)
	w1, w2 := s.start("W1", route.Addrs()...), s.start("W2")
	s.must(w1, worker.Lock)
	waiting := s.begin(w2, worker.Lock)
	s.await(0, "W2", history.Enrolled)

	s.fault(history.Fault, clientFrozen, "W1")
	for i := range s.ens.Servers() {
		route.Proxy(i + 1).Freeze(zktest.ToServer)
	}
	gone := s.carrier(route, zktest.OpDelete)
	release := s.begin(w1, worker.Unlock)
	_, err := waiting.Wait(s.within())
	require.NoError(t, err, "its session ends without the release")
	require.True(t, s.must(w2, worker.Write, "w2").OK)
	require.Equal(t, 1, count(s, route, zktest.OpDelete), "the release is on its way")
	route.Heal()
	s.fault(history.Healed, clientFrozen, "W1")
	select {
	case <-gone:
	case <-s.within().Done():
		require.Fail(t, "the late release is still under way")
	}
	// Whatever it is told: the session took the node along.
	_, _ = release.Wait(s.within())

	from := s.log.Len()
	again := s.begin(w1, worker.Lock)
	s.await(from, "W1", history.Enrolled)
	require.True(t, s.must(w2, worker.Write, "w2 still").OK)
	s.must(w2, worker.Unlock)
	_, err = again.Wait(s.within())
	require.NoError(t, err)
	require.True(t, s.must(w1, worker.Write, "w1").OK)
	s.ended()
	require.Zero(t, s.count("W2", history.Lost))
}

// Sequence 6: the keeper loses one reply at each server, and its connection with
// it, while the work goes on.
func TestLostKeeperRepliesEndNoHold(t *testing.T) {
	s := newStory(t, shared.Three(t), 10*time.Second, true)
	route := s.ens.Route(t)
	w1 := s.start("W1", route.Addrs()...)
	s.must(w1, worker.Lock)
	before := count(s, route, zktest.OpCreateSession)
	dropReplies(s, route, zktest.OpMulti)
	for deadline := time.Now().Add(patience); count(s, route, zktest.OpCreateSession) < before+3; {
		require.Less(t, time.Now(), deadline, "three replies have been lost")
		require.True(t, s.must(w1, worker.Write, "on and on").OK)
	}
	s.fault(history.Healed, "replies lost", "W1")
	s.must(w1, worker.Unlock)
	s.ended()
	require.Zero(t, s.count("W1", history.Lost))
	require.Equal(t, 1, s.count("W1", history.Granted))
}
