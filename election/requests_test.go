package election_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// asked is what a host has asked for since request number since, without pings,
// and with requests of one flight in the order of their names.
func (s *scene) asked(since int, host string) []string {
	s.settle()
	var ops []string
	var flight time.Duration
	begin := 0
	for _, r := range s.From(host).Requests() {
		if r.N <= since || r.Op == zktest.OpPing {
			continue
		}
		if r.At-flight > 100*time.Microsecond { // half of what a round trip takes at least
			slices.Sort(ops[begin:])
			begin = len(ops)
		}
		flight = r.At
		ops = append(ops, r.Op.String())
	}
	slices.Sort(ops[begin:])
	return ops
}

// mark is the number of the newest request.
func (s *scene) mark() int {
	s.settle()
	all := s.Requests()
	return all[len(all)-1].N
}

var (
	flight   = []string{"getChildren2", "multi"} // in one
	twoReads = []string{"getChildren2", "getData"}
)

// What an election costs the ensemble is part of the contract: with one request too
// many per candidate or observer, a change of leader is a herd.
func TestRequestsAreCounted(t *testing.T) {
	t.Run("WinningUncontendedCostsWhatTheLockDoes", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			m, err := zklock.New(c, s.Path)
			require.NoError(s.T, err)
			require.NoError(s.T, s.lead(e).Resign(s.Ctx)) // makes the parents
			since := s.mark()
			h, err := m.Lock(s.Ctx)
			require.NoError(s.T, err)
			lock := s.asked(since, "a")
			require.NoError(s.T, h.Unlock(s.Ctx))
			since = s.mark()
			term := s.lead(e)
			require.Equal(s.T, []string{"create", "getChildren2", "getData"}, s.asked(since, "a"))
			require.Equal(s.T, lock, s.asked(since, "a"))
			since = s.mark()
			require.NoError(s.T, term.Resign(s.Ctx))
			require.Equal(s.T, []string{"delete"}, s.asked(since, "a"))
			since = s.mark()
			b := s.runs(s.Ctx, e)
			b.begins(s.Timeout).answer <- nil
			require.NoError(s.T, b.returns(s.Timeout))
			require.Equal(s.T, append(lock, "delete"), s.asked(since, "a"))
		})
	})

	t.Run("AStandbyIsSilentAndTheWinnerAsksForProofAndListInOneFlight", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			term := s.lead(a)
			var standbys []*campaign
			for i := range 3 {
				_, e := s.candidate(fmt.Sprint("s", i))
				standbys = append(standbys, s.stands(s.Ctx, e))
			}
			since := s.mark()
			s.Pass(20 * s.Timeout)
			for i := range 3 {
				require.Empty(s.T, s.asked(since, fmt.Sprint("s", i)))
			}
			since = s.mark()
			require.NoError(s.T, term.Resign(s.Ctx))
			s.won(standbys[0], s.Timeout)
			require.Equal(s.T, []string{"delete"}, s.asked(since, "a"))
			require.Equal(s.T, flight, s.asked(since, "s0"))
			asked := s.From("s0").Requests()
			require.Less(s.T, (asked[len(asked)-1].At - asked[len(asked)-2].At).Abs(), 100*time.Microsecond, "one after the other is a round trip more")
			require.Empty(s.T, s.asked(since, "s1"))
			require.Empty(s.T, s.asked(since, "s2"))
		})
	})

	t.Run("SetInfoIsOneWriteAndOneReadForWhoeverWatches", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			term := s.lead(a)
			for i := range 3 {
				_, e := s.candidate(fmt.Sprint("s", i))
				s.stands(s.Ctx, e)
			}
			for range 5 {
				since := s.mark()
				require.NoError(s.T, term.SetInfo(s.Ctx, fmt.Sprint(since)))
				own := slices.DeleteFunc(s.asked(since, "a"), func(op string) bool { return op == "multi" }) // its keeper's
				require.ElementsMatch(s.T, []string{"setData", "getData"}, own)
				require.Equal(s.T, []string{"getData"}, s.asked(since, "s0"), "the successor's watch is armed again")
				require.Empty(s.T, s.asked(since, "s1"))
				require.Empty(s.T, s.asked(since, "s2"))
			}
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("AHundredObserversOfOneClientAskAsOne", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			_, b := s.candidate("b")
			w, watcher := s.candidate("w")
			require.NoError(s.T, s.lead(a).Resign(s.Ctx)) // makes the directory
			since, watches := s.mark(), s.server().Watches()
			var all []*observer
			for i := range 100 {
				e := watcher
				if i%2 == 1 {
					e = s.election(w, "another candidate of the same client")
				}
				all = append(all, s.observes(e, nil))
			}
			see := func(l election.Leader, asked ...string) {
				s.T.Helper()
				require.Equal(s.T, asked, s.asked(since, "w"))
				for _, o := range all {
					last, _ := o.last()
					require.Equal(s.T, l, last)
				}
				since = s.mark()
			}
			see(election.Leader{}, "getChildren2", "getChildren2") // the second is the watch
			require.Equal(s.T, watches+1, s.server().Watches())

			first := s.lead(a)
			see(leader("a", first), twoReads...)
			waiting := s.stands(s.Ctx, b)
			for i := range 20 {
				_, e := s.candidate(fmt.Sprint("c", i))
				s.stands(s.Ctx, e)
			}
			require.Empty(s.T, s.asked(since, "w"), "who queues up is nobody's news")
			// The holder watches its own node, each of the others its predecessor and its
			// own; the observers one.
			require.Equal(s.T, watches+1+2*21+1, s.server().Watches())

			require.NoError(s.T, first.SetInfo(s.Ctx, "a:2"))
			see(leader("a:2", first), "getData")
			require.NoError(s.T, first.Resign(s.Ctx))
			second := s.won(waiting, s.Timeout)
			see(leader("b", second), twoReads...)

			s.Of(w).Cut()
			s.settle()

			after := slices.DeleteFunc(s.asked(since, "w"), func(op string) bool { return op == "createSession" })
			require.Equal(s.T, twoReads, after, "and after a reconnect")
			since = s.mark()

			for _, o := range all {
				o.stop()
			}
			require.NoError(s.T, second.Resign(s.Ctx))
			require.Empty(s.T, s.asked(since, "w"), "nobody observes any more")
		})
	})

	t.Run("TheEndOfTheOnlyLeaderCostsAnObserverTwoReads", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			_, watcher := s.candidate("w")
			term := s.lead(a)
			o := s.observes(watcher, nil)
			since := s.mark()
			require.NoError(s.T, term.Resign(s.Ctx))
			require.Equal(s.T, []string{"getChildren2", "getChildren2"}, s.asked(since, "w"))
			o.sees(election.Leader{}, time.Second)
		})
	})

	t.Run("AnObserverThatWaitsItselfSharesItsWatch", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			_, b := s.candidate("b")
			term := s.lead(a)
			waiting := s.stands(s.Ctx, b)
			since, watches := s.mark(), s.server().Watches()
			s.observes(b, nil).sees(leader("a", term), time.Second)
			require.Equal(s.T, []string{"getChildren2"}, s.asked(since, "b"))
			require.Equal(s.T, watches, s.server().Watches())
			require.NoError(s.T, term.Resign(s.Ctx))
			require.NoError(s.T, s.won(waiting, s.Timeout).Resign(s.Ctx))
		})
	})

	t.Run("ALeaderIsAskedForWithOneListAndOneRead", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, a := s.candidate("a")
			_, w := s.candidate("w")
			term := s.lead(a)
			for i := range 5 {
				_, e := s.candidate(fmt.Sprint("c", i))
				s.stands(s.Ctx, e)
			}
			since, watches := s.mark(), s.server().Watches()
			l, err := w.Leader(s.Ctx)
			require.NoError(s.T, err)
			require.Equal(s.T, leader("a", term), l)
			require.Equal(s.T, twoReads, s.asked(since, "w"))
			require.Equal(s.T, watches, s.server().Watches())
		})
	})
}

// A takeover is two round trips: the resignation and the word of it are one, proof
// and list together the other. A thousand who only look on add none.
func TestATakeoverIsTwoRoundTripsWhoeverLooksOn(t *testing.T) {
	for claim, observers := range map[string]int{"NoObserver": 0, "AThousandObservers": 1000} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				const clients, way = 10, 10 * time.Millisecond
				s.Net.SetDefaultLatency(way, way)
				var line []*election.Election
				for i := range 3 {
					_, e := s.candidate(fmt.Sprint("c", i))
					line = append(line, e)
				}
				for i := range clients {
					_, e := s.candidate(fmt.Sprint("w", i))
					for range observers / clients {
						s.observes(e, nil)
					}
				}
				term := s.lead(line[0])
				next, last := s.stands(s.Ctx, line[1]), s.stands(s.Ctx, line[2])
				s.Pass(time.Second)
				for _, c := range []*campaign{next, last} {
					began := time.Now()
					require.NoError(s.T, term.Resign(s.Ctx))
					term = s.won(c, s.Timeout)
					require.Less(s.T, c.at.Sub(began), 2*2*way+way/4)
					s.Pass(time.Second)
				}
				require.NoError(s.T, term.Resign(s.Ctx))
			})
		})
	}
}
