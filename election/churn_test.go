package election_test

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// footprint is what terms that are over may not add to.
type footprint struct{ goroutines, watches int }

func (s *scene) footprint() (f footprint, heap uint64) {
	s.settle()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), s.server().Watches()}, m.HeapAlloc
}

// A goroutine, a watch or a timer left behind by each term is the end of a process
// that leads for short terms. After a thousand of them there is no more of
// anything than after a hundred.
func TestTermsLeaveNothingBehind(t *testing.T) {
	for claim, cycle := range map[string]func(s *scene, e *election.Election){
		"CampaignAndResign": func(s *scene, e *election.Election) {
			term, err := e.Campaign(s.Ctx)
			require.NoError(s.T, err)
			require.NoError(s.T, term.Resign(s.Ctx))
		},
		"Run": func(s *scene, e *election.Election) {
			require.NoError(s.T, e.Run(s.Ctx, func(context.Context, *election.Term) error { return nil }))
		},
		"SetInfoAndAnObserver": func(s *scene, e *election.Election) {
			term, err := e.Campaign(s.Ctx)
			require.NoError(s.T, err)
			ctx, cancel := context.WithCancel(s.Ctx)
			for l, err := range e.Observe(ctx) {
				require.NoError(s.T, err)
				if l.Info == "new" {
					cancel()
					continue
				}
				require.NoError(s.T, term.SetInfo(s.Ctx, "new"))
			}
			cancel()
			require.NoError(s.T, term.Resign(s.Ctx))
		},
		"ObserversOfNobody": func(s *scene, e *election.Election) {
			for l, err := range e.Observe(s.Ctx) {
				require.NoError(s.T, err)
				require.Zero(s.T, l)
				break
			}
		},
	} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				cycles := 1000
				if stage.Raced {
					cycles = 300 // the race detector makes each cost five
				}
				_, e := s.candidate("a")
				for range cycles / 10 {
					cycle(s, e)
				}
				before, heap := s.footprint()
				for range cycles {
					cycle(s, e)
				}
				after, grown := s.footprint()
				require.Equal(s.T, before, after)
				require.Less(s.T, float64(grown)-float64(heap), 1e6+float64(500*cycles), "bytes on the heap, the server's trace included")
				require.Empty(s.T, s.Nodes())
			})
		})
	}
}

// Something of one term comes late, when the next one stands already: the answer
// to its resignation, another Resign, a SetInfo that was abandoned. The next term
// stays as it is.
func TestWhatComesLateFromOneTermTouchesNoOther(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		old := s.lead(e)
		held, reached := make(chan struct{}), make(chan struct{})
		s.Of(c).At(zktest.OpSetData, func(zktest.Request) { close(reached); <-held })
		ctx, cancel := context.WithCancel(s.Ctx)
		set := make(chan error, 1)
		go func() { set <- old.SetInfo(ctx, "late") }()
		<-reached
		cancel()
		require.ErrorIs(s.T, <-set, context.Canceled)
		deleted := make(chan struct{})
		s.Of(c).DropReply(zktest.OpDelete, 1)
		s.Of(c).AtReply(zktest.OpDelete, func(zktest.Request) { close(deleted) })
		resigned := make(chan error, 1)
		go func() { resigned <- old.Resign(s.Ctx) }()
		synctest.Wait()
		close(held)
		<-deleted
		next := s.lead(e)
		require.NoError(s.T, <-resigned)
		untouched := func() {
			s.T.Helper()
			s.Pass(2 * s.Timeout)
			require.NoError(s.T, next.Context().Err())
			require.Equal(s.T, zklock.Held, next.State())
			require.Len(s.T, s.Nodes(), 1)
			l, err := e.Leader(s.Ctx)
			require.NoError(s.T, err)
			require.Equal(s.T, leader("a", next), l)
		}
		untouched()
		require.NoError(s.T, old.Resign(s.Ctx))
		require.ErrorIs(s.T, old.SetInfo(s.Ctx, "later"), zklock.ErrReleased)
		untouched()
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

// A term that was lost is held by nobody's patience either: the one that follows
// it, on the same Election, is another.
func TestATermAfterALossIsAnother(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		var last *election.Term
		for range 50 {
			term := s.lead(e)
			if last != nil {
				require.Positive(s.T, term.Token().Compare(last.Token()))
				require.ErrorIs(s.T, last.Resign(s.Ctx), zklock.ErrLost)
				require.NoError(s.T, term.Context().Err())
			}
			require.NoError(s.T, s.Expire(s.Session(c)))
			s.lost(term, s.Timeout)
			last = term
			s.Pass(time.Millisecond)
		}
	})
}
