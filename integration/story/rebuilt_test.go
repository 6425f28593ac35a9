//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/ensemble"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
	"github.com/zkfence/zkfence/integration/worker"
)

// newEpoch kills the leader and brings it back.
func newEpoch(t *testing.T, ens *ensemble.Ensemble) (epoch uint64) {
	t.Helper()
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	require.NoError(t, leader.Kill(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	require.NoError(t, leader.Start(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	leader, err = ens.Leader(t.Context())
	require.NoError(t, err)
	st, err := leader.Status(t.Context())
	require.NoError(t, err)
	return st.Zxid >> 32
}

// Sequence 10, first half: all servers go and come back within the session.
func TestAHoldOutlivesARestartOfAllServers(t *testing.T) {
	s := newStory(t, shared.Three(t), 40*time.Second, true)
	w1 := s.start("W1")
	s.must(w1, worker.Lock)
	require.True(t, s.must(w1, worker.Write, "before").OK)
	s.fault(history.Fault, "all stopped", "")
	for _, server := range s.ens.Servers() {
		require.NoError(t, server.Stop(t.Context()))
	}
	for _, server := range s.ens.Servers() {
		require.NoError(t, server.Start(t.Context()))
	}
	require.NoError(t, s.ens.Await(t.Context()))
	s.fault(history.Healed, "all stopped", "")
	require.True(t, s.must(w1, worker.Write, "after").OK)
	s.must(w1, worker.Unlock)
	s.ended()
	require.Zero(t, s.count("", history.Lost))
}

// rebuilt is what sequence 10 comes to: an ensemble was rebuilt from nothing, which
// counts zxids anew, and all of its rightful holders are refused. All owners are
// stopped.
type rebuilt struct {
	*story
	last fencing.Stamp // of the old ensemble, remembered by the resource
}

func rebuiltStory(t *testing.T) rebuilt {
	t.Helper()
	s := newStory(t, shared.Three(t), 6*time.Second, true)
	old := newEpoch(t, s.ens) // above the first of an ensemble, whatever the stories before have raised it to
	w1 := s.start("W1")
	s.must(w1, worker.Lock)
	s.must(w1, worker.Raise)
	require.True(t, s.must(w1, worker.Write, "before").OK)
	s.ended() // the history of this ensemble
	_, last := s.store.Value()
	require.Equal(t, old, last.Token.Uint64()>>32)

	require.NoError(t, s.ens.Rebuild(t.Context()))
	s.workers, s.path = nil, s.path+"-anew"
	w2 := s.start("W2")
	s.must(w2, worker.Lock)
	for _, order := range []string{worker.Raise, worker.Write} {
		refused, err := s.try(w2, order)
		require.NoError(t, err)
		require.Equal(t, history.Answer{Refused: history.Stale, Last: last}, refused, "what the resource remembers stands")
	}
	s.must(w2, worker.Unlock)
	s.ended()
	s.workers = nil
	return rebuilt{s, last}
}

// late is a command of the old ensemble's owner that arrives after all.
func (r rebuilt) late() history.Answer {
	r.t.Helper()
	c := history.Command{Call: history.Write, Stamp: fencing.Stamp{Token: r.last.Token, Seq: r.last.Seq + 1}, Value: "late"}
	r.log.Add(history.Event{At: worker.Now(), Kind: history.Sent, Worker: "W1", Resource: r.store.URL(), Op: 100, Command: c})
	a, err := resource.NewClient(r.store.URL()).Do(r.within(), c)
	require.NoError(r.t, err)
	r.log.Add(history.Event{At: worker.Now(), Kind: history.Answered, Worker: "W1", Resource: r.store.URL(), Op: 100, Answer: a})
	return a
}

// resume lets W3 hold and write in the rebuilt ensemble.
func (r rebuilt) resume() *worker.Process {
	r.t.Helper()
	w3 := r.start("W3")
	r.must(w3, worker.Lock)
	require.True(r.t, r.must(w3, worker.Raise).OK)
	require.Equal(r.t, "before", r.must(w3, worker.Read).Value)
	require.True(r.t, r.must(w3, worker.Write, "after").OK)
	return w3
}

// Sequence 10, second half, the first way out of package fencing's documentation,
// to the letter: all servers stopped, a number above the upper half of the largest
// token into two files of each, and no resource is touched.
func TestARebuiltEnsembleIsRaisedAboveTheOldOne(t *testing.T) {
	r := rebuiltStory(t)
	above := uint32(r.last.Token.Uint64()>>32) + 1
	for _, server := range r.ens.Servers() {
		require.NoError(t, server.Stop(t.Context()))
	}
	for _, server := range r.ens.Servers() {
		require.NoError(t, server.SetEpoch(t.Context(), above))
	}
	for _, server := range r.ens.Servers() {
		require.NoError(t, server.Start(t.Context()))
	}
	require.NoError(t, r.ens.Await(t.Context()))

	r.resume()
	_, last := r.store.Value()
	require.Greater(t, last.Token.Uint64()>>32, uint64(above))
	require.Equal(t, history.Answer{Refused: history.Stale, Last: last}, r.late(), "the old ensemble's owners stay out")
	r.ended()
	require.Empty(t, r.store.Overrides())
}

// The second way: what the resource remembers is reset by hand, which it writes
// down, to nothing or to a token of the new ensemble.
func TestARebuiltEnsemblesTokensAreLetInByAnOverride(t *testing.T) {
	for name, to := range map[string]func(rebuilt) fencing.Stamp{
		"ToNothing": func(rebuilt) fencing.Stamp { return fencing.Stamp{} },
		"ToATokenOfTheNewEnsemble": func(r rebuilt) fencing.Stamp {
			var newest fencing.Token
			for _, e := range r.log.Events() {
				if e.Kind == history.Granted && e.Path == r.path {
					newest = e.Token
				}
			}
			require.False(r.t, newest.IsZero())
			return fencing.Stamp{Token: newest}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := rebuiltStory(t)
			began, target := time.Now(), to(r)
			r.log.Add(history.Event{At: worker.Now(), Kind: history.Override, Worker: "operator", Resource: r.store.URL(), Reason: "rebuilt", Stamp: target})
			r.store.Override("operator", "rebuilt", target)

			w3 := r.resume()
			_, last := r.store.Value()
			require.Negative(t, last.Token.Compare(r.last.Token))
			written := r.store.Overrides()
			require.Len(t, written, 1)
			require.WithinRange(t, written[0].When, began, time.Now())
			written[0].When = time.Time{}
			require.Equal(t, resource.Override{Who: "operator", Why: "rebuilt", From: r.last, To: target}, written[0])

			// That is what all owners are stopped for: nothing protects against
			// those of the old ensemble any more, and one is enough to lock all of
			// the new one's out once more.
			late := r.late()
			require.True(t, late.OK)
			refused := r.must(w3, worker.Write, "in vain")
			require.Equal(t, history.Answer{Refused: history.Stale, Last: late.Last}, refused)
			r.ended()
		})
	}
}
