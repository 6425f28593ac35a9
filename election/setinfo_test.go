package election_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// info is what an observer would be shown now.
func (s *scene) info(e *election.Election) string {
	s.T.Helper()
	l, err := e.Leader(s.Ctx)
	require.NoError(s.T, err)
	return l.Info
}

func TestSetInfo(t *testing.T) {
	t.Run("KeepsTheTokenAndEndsWithTheTerm", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			_, e := s.candidate("a")
			term := s.lead(e)
			node := s.Nodes()
			require.NoError(s.T, term.SetInfo(s.Ctx, "a:2"))
			l, err := e.Leader(s.Ctx)
			require.NoError(s.T, err)
			require.Equal(s.T, election.Leader{Info: "a:2", Epoch: term.Token().Uint64()}, l)
			require.Equal(s.T, node, s.Nodes())
			require.NoError(s.T, term.Context().Err())
			require.NoError(s.T, term.Resign(s.Ctx))
			require.ErrorIs(s.T, term.SetInfo(s.Ctx, "late"), zklock.ErrReleased)
			next := s.lead(e)
			require.Equal(s.T, "a", s.info(e), "the next term begins with New's")
			require.ErrorIs(s.T, term.SetInfo(s.Ctx, "late"), zklock.ErrReleased)
			require.Equal(s.T, "a", s.info(e), "a late call touches no other term")
			require.NoError(s.T, next.Resign(s.Ctx))
		})
	})

	t.Run("RefusesWhatNewRefuses", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			term := s.lead(e)
			require.ErrorContains(s.T, term.SetInfo(s.Ctx, strings.Repeat("x", election.MaxInfo+1)), "at most 256")
			require.ErrorContains(s.T, term.SetInfo(s.Ctx, "\xff"), "UTF-8")
			require.NoError(s.T, term.SetInfo(s.Ctx, strings.Repeat("x", election.MaxInfo)))
			require.NoError(s.T, term.SetInfo(s.Ctx, ""))
			require.Empty(s.T, s.info(e))
			ctx, cancel := context.WithCancelCause(s.Ctx)
			why := errors.New("why")
			cancel(why)
			before := s.Count(zktest.OpSetData)
			require.ErrorIs(s.T, term.SetInfo(ctx, "x"), why)
			s.settle()
			require.Equal(s.T, before, s.Count(zktest.OpSetData), "a context that has ended asks for nothing")
		})
	})

	t.Run("SaysWhyTheTermWasLost", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			require.NoError(s.T, s.Expire(s.Session(c)))
			var lost *zklock.LostError
			require.ErrorAs(s.T, term.SetInfo(s.Ctx, "x"), &lost)
			require.Equal(s.T, term.Token(), lost.Token)

			term = s.lead(e)
			of := s.For(s.Session(c))
			// The word of its node's end does not reach it before the refusal does.
			of.Refuse(true)
			of.Cut()
			require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
			of.Refuse(false)
			require.ErrorAs(s.T, term.SetInfo(s.Ctx, "x"), &lost)
			require.Equal(s.T, zklock.NodeDeleted, lost.Reason)
			require.Equal(s.T, term.Token(), lost.Token)
		})
	})

	t.Run("NoWrite", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c := s.Dial("a", zkconn.WithACL(zk.WorldACL(zk.PermAll&^zk.PermWrite)))
			e := s.election(c, "a")
			term := s.lead(e)
			require.ErrorIs(s.T, term.SetInfo(s.Ctx, "x"), zk.ErrNoAuth)
			require.NoError(s.T, term.Context().Err())
			require.Equal(s.T, "a", s.info(e))
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("IsRepeatedWhenItsAnswerIsLost", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			of := s.Of(c)
			of.DropReply(zktest.OpSetData, 2)
			of.DropRequest(zktest.OpSetData, 1)
			require.NoError(s.T, term.SetInfo(s.Ctx, "a:2"))
			require.Equal(s.T, "a:2", s.info(e))
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	// A call's context ends while its request waits in the client. The next call's
	// must not overtake it, or what stands in the end is what was said first.
	t.Run("TheLastCallStandsInTheEnd", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			held := make(chan struct{})
			reached := make(chan struct{})
			free := sync.OnceFunc(func() { close(held) })
			s.T.Cleanup(free)
			s.Of(c).At(zktest.OpSetData, func(zktest.Request) { close(reached); <-held })
			ctx, cancel := context.WithCancel(s.Ctx)
			first := make(chan error, 1)
			go func() { first <- term.SetInfo(ctx, "first") }()
			s.Ended(reached, s.Timeout, "no write")
			cancel()
			require.ErrorIs(s.T, <-first, context.Canceled)
			second := make(chan error, 1)
			go func() { second <- term.SetInfo(s.Ctx, "second") }()
			s.Pass(50 * time.Millisecond)
			free()
			require.NoError(s.T, <-second)
			require.Equal(s.T, "second", s.info(e))
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("CallsTakeTurns", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			term := s.lead(e)
			under, most := 0, 0
			var mu sync.Mutex
			count := func(by int) func(zktest.Request) {
				return func(r zktest.Request) {
					if r.Op == zktest.OpSetData {
						mu.Lock()
						defer mu.Unlock()
						under += by
						most = max(most, under)
					}
				}
			}
			s.T.Cleanup(s.OnRequest(count(1)))
			s.T.Cleanup(s.OnReply(count(-1)))
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { require.NoError(s.T, term.SetInfo(s.Ctx, "x")) })
			}
			wg.Wait()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			require.Equal(s.T, 1, most)
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("WaitsOutAnOutage", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			_, other := s.candidate("b")
			term := s.lead(e)
			of := s.Of(c)
			of.Refuse(true)
			of.Cut()
			ctx, cancel := context.WithTimeout(s.Ctx, 50*time.Millisecond)
			defer cancel()
			require.ErrorIs(s.T, term.SetInfo(ctx, "x"), context.DeadlineExceeded)
			said := make(chan error, 1)
			go func() { said <- term.SetInfo(s.Ctx, "y") }()
			s.Pass(s.Timeout / 8)
			of.Refuse(false)
			require.NoError(s.T, <-said)
			require.Equal(s.T, "y", s.info(other))
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	// The term ends while SetInfo waits for a server: nobody may be left waiting.
	t.Run("EndsWithTheTerm", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			s.Of(c).Freeze(zktest.BothWays)
			said := make(chan error, 2)
			for range 2 {
				go func() { said <- term.SetInfo(s.Ctx, "x") }()
			}
			for range 2 {
				require.ErrorIs(s.T, <-said, zklock.ErrLost)
			}
			require.ErrorIs(s.T, context.Cause(term.Context()), zklock.ErrLost)
		})
	})
}
