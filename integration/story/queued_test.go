//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
)

// Sequence 8: the workers are cut from the resource, not from the ensemble. What
// they send piles up on its way, and arrives in an order that nobody has sent it in.

// cutStore holds up all commands from now on.
func (s *story) cutStore() {
	s.t.Helper()
	s.fault(history.Fault, "store cut", "")
	s.store.Hold()
}

// deliver lets the command arrive that carries the value, and says how it fared.
func (s *story) deliver(call history.Call, value string) history.Answer {
	s.t.Helper()
	a, err := s.store.Deliver(s.within(), func(c history.Command) bool { return c.Call == call && c.Value == value })
	require.NoError(s.t, err, "%s %q", call, value)
	return a
}

// accepted is what the resource has accepted, in its own order.
func (s *story) accepted() (stamps []fencing.Stamp) {
	for _, e := range s.log.Events() {
		if e.Kind == history.Accepted {
			stamps = append(stamps, e.Stamp)
		}
	}
	return stamps
}

func (s *story) order(p *worker.Process, do, value string) *worker.Pending {
	s.t.Helper()
	pending, err := p.Begin(do, value)
	require.NoError(s.t, err)
	return pending
}

// CASES 45, too: of one holder's commands the later wins. What comes after it is
// told that, never that it has been applied, whether it has or not.
func TestAHoldersCommandsArriveOutOfOrder(t *testing.T) {
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	w1 := s.start("W1")
	s.must(w1, worker.Lock)
	token := s.must(w1, worker.Raise).Last.Token
	stamp := func(seq uint64) fencing.Stamp { return fencing.Stamp{Token: token, Seq: seq} }

	s.cutStore()
	told := map[*worker.Pending]history.Answer{}
	first := s.order(w1, worker.Send, "1")
	second := s.order(w1, worker.Send, "2")
	third := s.order(w1, worker.Send, "3")
	retry := s.order(w1, worker.Again, "2") // while the first try is on its way
	require.NoError(t, s.store.OnItsWay(s.within(), 4))
	require.Empty(t, s.accepted())

	told[second] = history.Answer{OK: true, Last: stamp(2)}
	require.Equal(t, told[second], s.deliver(history.Write, "2"))
	told[first] = history.Answer{Refused: history.Superseded, Last: stamp(2)}
	require.Equal(t, told[first], s.deliver(history.Write, "1"))
	told[retry] = history.Answer{Refused: history.Duplicate, Last: stamp(2)}
	require.Equal(t, told[retry], s.deliver(history.Write, "2"))
	told[third] = history.Answer{OK: true, Last: stamp(3)}
	require.Equal(t, told[third], s.deliver(history.Write, "3"))
	for value, refused := range map[string]history.Refusal{"1": history.Superseded, "2": history.Superseded, "3": history.Duplicate} {
		late := s.order(w1, worker.Again, value)
		told[late] = history.Answer{Refused: refused, Last: stamp(3)}
		require.Equal(t, told[late], s.deliver(history.Write, value))
	}
	s.store.Flow()
	s.fault(history.Healed, "store cut", "")

	// The tries of one value are the same to the test, but not to the history.
	twice := []history.Answer{told[second], told[retry]}
	delete(told, second)
	delete(told, retry)
	for pending, want := range told {
		d, err := pending.Wait(s.within())
		require.NoError(t, err)
		require.Equal(t, want, d.Answer)
	}
	var heard []history.Answer
	for _, pending := range []*worker.Pending{second, retry} {
		d, err := pending.Wait(s.within())
		require.NoError(t, err)
		heard = append(heard, d.Answer)
	}
	require.ElementsMatch(t, twice, heard)
	require.Equal(t, []fencing.Stamp{stamp(2), stamp(3)}, s.accepted())
	require.Equal(t, "3", s.must(w1, worker.Read).Value)
	s.must(w1, worker.Unlock)
	s.ended()
	require.Zero(t, s.count("", history.Lost), "the lock had nothing to do with it")
}

// What the last owner has left on its way is refused once the next has raised the
// floor, before that has written anything.
func TestAnOldOwnersCommandsArriveAboveTheNewFloor(t *testing.T) {
	for name, leave := range map[string]func(*story, *worker.Process){
		"Unlocked": func(s *story, p *worker.Process) { s.must(p, worker.Unlock) },
		"Killed":   func(s *story, p *worker.Process) { require.NoError(s.t, p.Kill()) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, shared.Three(t), 3*time.Second, true)
			w1, w2 := s.start("W1"), s.start("W2")
			s.must(w1, worker.Lock)
			s.must(w1, worker.Raise)
			first := s.must(w1, worker.Write, "first")
			require.True(t, first.OK)
			waiting := s.begin(w2, worker.Lock)
			s.await(0, "W2", history.Enrolled)

			s.cutStore()
			for _, value := range []string{"old 1", "old 2", "old 3"} {
				s.order(w1, worker.Send, value)
			}
			require.NoError(t, s.store.OnItsWay(s.within(), 3))
			leave(s, w1)
			_, err := waiting.Wait(s.within())
			require.NoError(t, err)
			raise := s.begin(w2, worker.Raise)
			floor := s.deliver(history.Raise, "")
			require.True(t, floor.OK)
			require.Positive(t, floor.Last.Token.Compare(first.Last.Token))
			require.Zero(t, floor.Last.Seq)
			_, err = raise.Wait(s.within())
			require.NoError(t, err)

			stale := func(last fencing.Stamp) history.Answer { return history.Answer{Refused: history.Stale, Last: last} }
			require.Equal(t, stale(floor.Last), s.deliver(history.Write, "old 2"))
			read := s.begin(w2, worker.Read)
			require.Equal(t, "first", s.deliver(history.Read, "").Value, "what it builds on stays what it is")
			_, err = read.Wait(s.within())
			require.NoError(t, err)
			require.Equal(t, stale(floor.Last), s.deliver(history.Write, "old 1"))
			s.order(w2, worker.Send, "new")
			written := s.deliver(history.Write, "new")
			require.True(t, written.OK)
			require.Equal(t, stale(written.Last), s.deliver(history.Write, "old 3"))
			s.store.Flow()
			s.fault(history.Healed, "store cut", "")

			require.Equal(t, []fencing.Stamp{first.Last, written.Last}, s.accepted())
			s.must(w2, worker.Unlock)
			if name == "Killed" {
				s.workers = s.workers[1:]
			}
			s.ended()
		})
	}
}
