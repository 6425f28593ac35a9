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

// kill ends a worker by SIGKILL and returns when that was.
func (s *story) kill(p *worker.Process) (at time.Duration) {
	s.t.Helper()
	at = worker.Now()
	require.NoError(s.t, p.Kill())
	s.workers = slices.DeleteFunc(s.workers, func(other *worker.Process) bool { return other == p })
	return at
}

// grants are who was granted the lock, one after the other, and whether their tokens rose.
func (s *story) grants() (names []string, rising bool) {
	var last history.Event
	rising = true
	for _, e := range s.log.Events() {
		if e.Kind == history.Granted {
			names = append(names, e.Worker)
			rising = rising && e.Token.Compare(last.Token) > 0
			last = e
		}
	}
	return names, rising
}

// A holder is killed, and its successor started at once under the same identity.
// Its node stands as long as its session; nobody is granted the lock meanwhile, and
// its successor adopts nothing: it stands at the end of the line.
func TestAKilledHolderIsSucceededByTheNextInLine(t *testing.T) {
	s := newStory(t, shared.Three(t), 3*time.Second, true)
	w1, w2 := s.start("W1"), s.start("W2")
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	require.True(t, s.must(w1, worker.Write, "first").OK)
	waiting := s.begin(w2, worker.Lock)
	s.await(0, "W2", history.Enrolled)

	killed := s.kill(w1)
	again := s.start("W1.2")
	last := s.begin(again, worker.Lock)
	mine := s.await(0, "W1.2", history.Enrolled)
	require.NotEqual(t, s.await(0, "W1", history.Enrolled).Node, mine.Node)
	_, err := waiting.Wait(s.within())
	require.NoError(t, err)
	require.Greater(t, s.await(0, "W2", history.Granted).At-killed, s.timeout/2, "no sooner than its session can end")
	s.must(w2, worker.Raise)
	require.True(t, s.must(w2, worker.Write, "second").OK)
	require.Zero(t, s.count("W1.2", history.Granted))
	s.must(w2, worker.Unlock)
	_, err = last.Wait(s.within())
	require.NoError(t, err)
	require.True(t, s.must(again, worker.Write, "third").OK)
	s.must(again, worker.Unlock)
	s.ended()
	names, rising := s.grants()
	require.Equal(t, []string{"W1", "W2", "W1.2"}, names)
	require.True(t, rising)
}

// A waiter is killed in the middle of the line. The one behind it is woken when its
// node goes, and holds nothing by that: the holder goes on. Once the holder lets go,
// it is granted the lock without anybody's session having to end.
func TestAKilledWaiterDelaysNobodyBehindIt(t *testing.T) {
	s := newStory(t, shared.Three(t), 3*time.Second, true)
	w1, w2, w3 := s.start("W1"), s.start("W2"), s.start("W3")
	s.must(w1, worker.Lock)
	s.begin(w2, worker.Lock)
	node := s.path + "/" + s.await(0, "W2", history.Enrolled).Node
	waiting := s.begin(w3, worker.Lock)
	s.await(0, "W3", history.Enrolled)

	there, _, gone, err := s.operator().ExistsW(node)
	require.NoError(t, err)
	require.True(t, there)
	s.kill(w2)
	again := s.start("W2.2")
	last := s.begin(again, worker.Lock)
	s.await(0, "W2.2", history.Enrolled)
	select {
	case <-gone:
	case <-s.within().Done():
		require.FailNow(t, "a killed waiter's node goes with its session")
	}
	require.True(t, s.must(w1, worker.Write, "still there").OK)
	require.Zero(t, s.count("W3", history.Granted))
	let := worker.Now()
	s.must(w1, worker.Unlock)
	_, err = waiting.Wait(s.within())
	require.NoError(t, err)
	require.Less(t, s.await(0, "W3", history.Granted).At-let, s.timeout/2, "nobody's session had to end")
	s.must(w3, worker.Unlock)
	_, err = last.Wait(s.within())
	require.NoError(t, err)
	s.must(again, worker.Unlock)
	s.ended()
	names, rising := s.grants()
	require.Equal(t, []string{"W1", "W3", "W2.2"}, names)
	require.True(t, rising)
	require.Zero(t, s.count("", history.Lost))
}

// A leader is killed in its term, and its successor started at once.
func TestAKilledLeaderIsSucceeded(t *testing.T) {
	s := newStory(t, shared.Three(t), 3*time.Second, true)
	s.elects(200 * time.Millisecond)
	leads := s.leads("W1", "W2")
	s.await(0, "W2", history.Enrolled)
	s.await(s.log.Len(), "W1", history.Granted)
	from := s.log.Len()
	killed := s.kill(s.workers[0])
	leads = append(leads[1:], s.leads("W1.2")...)
	require.Greater(t, s.await(from, "W2", history.Granted).At-killed, s.timeout/2, "no sooner than its session can end")
	s.await(from, "W1.2", history.Granted)
	s.halt(leads)
	s.ended()
	_, rising := s.grants()
	require.True(t, rising)
	require.Zero(t, s.count("", history.Lost))
}
