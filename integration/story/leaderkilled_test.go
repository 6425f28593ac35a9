//go:build linux

package story_test

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
)

// Sequence 9: the ensemble's leader dies around grants and around releases, while
// three workers hand the lock around as fast as they can.
func TestTheLeaderDiesAroundGrantAndRelease(t *testing.T) {
	for _, moment := range []history.Kind{history.Granted, history.Unlocking} {
		t.Run(string(moment), func(t *testing.T) {
			s := newStory(t, shared.Three(t), 6*time.Second, true)
			cycles := s.cycle("W1", "W2", "W3")
			n := times(10, 25)
			for range n {
				s.killLeaderAt(moment)
			}
			for i, d := range s.halt(cycles) {
				require.GreaterOrEqual(t, d.Cycles, n, "%s has had its turn between the faults", s.workers[i].Name())
			}
			s.ended()
			// T is well above 1.6 × syncLimit × tick, so a leader's death alone ends no hold.
			require.Zero(t, s.count("", history.Lost))
			met := s.met()
			t.Logf("%v; %d deaths met a release, %d a grant", s, met[history.Released], met[history.Granted])
			require.Equal(t, n, met[history.Released]+met[history.Granted], "each has kept somebody waiting")
		})
	}
}

// met counts what the faults have kept from happening while nothing happened for the
// longest time: a release that was under way, or else a grant. The kill comes
// tens of milliseconds after what it was to hit, and a hold takes fewer, so this is
// chance.
func (s *story) met() map[history.Kind]int {
	events := s.log.Events()
	slices.SortStableFunc(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	type attempt struct {
		worker string
		id     uint64
	}
	releasing, holding := map[attempt]bool{}, map[attempt]bool{}
	met := map[history.Kind]int{}
	var last, longest time.Duration
	var awaited history.Kind // in the longest time
	for _, e := range events {
		a := attempt{e.Worker, e.Attempt}
		switch e.Kind {
		case history.Fault:
			longest = 0
		case history.Healed:
			met[awaited]++
		case history.Enrolled, history.Granted, history.Unlocking, history.Released:
			if e.At-last > longest {
				longest, awaited = e.At-last, history.Granted
				if len(releasing) > 0 {
					awaited = history.Released
				} else if len(holding) > 0 {
					awaited = history.Unlocking
				}
			}
			last = e.At
			delete(holding, a)
			delete(releasing, a)
			switch e.Kind {
			case history.Granted:
				holding[a] = true
			case history.Unlocking:
				releasing[a] = true
			}
		}
	}
	return met
}

// killLeaderAt kills the leader as soon as anything of that kind happens, lets the
// others take over until the lock has changed hands, and brings the killed server
// back.
func (s *story) killLeaderAt(moment history.Kind) {
	s.t.Helper()
	ctx := s.within()
	leader, err := s.ens.Leader(ctx)
	require.NoError(s.t, err)
	s.await(s.log.Len(), "", moment)
	s.fault(history.Fault, leaderKilled, "")
	require.NoError(s.t, leader.Kill(ctx))
	from := s.log.Len()
	require.NoError(s.t, s.ens.Await(ctx))
	next := s.await(from, "", history.Granted)
	s.await(from, next.Worker, history.Unlocking)
	require.NoError(s.t, leader.Start(ctx))
	require.NoError(s.t, s.ens.Await(ctx))
	s.fault(history.Healed, leaderKilled, "")
}
