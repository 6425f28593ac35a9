package election_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
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

	// That the server sees them in order is luck: each is sent from a goroutine of its
	// own. So the second is not even sent while the first has not returned.
	t.Run("AnAbandonedCallIsWaitedFor", func(t *testing.T) {
		virtually(t, func(s *scene) {
			var writes atomic.Int64
			c := s.tapped("a", func() { writes.Add(1) })
			e := s.election(c, "a")
			term := s.lead(e)
			held, reached := make(chan struct{}), make(chan struct{})
			free := sync.OnceFunc(func() { close(held) })
			s.T.Cleanup(free)
			s.Of(c).At(zktest.OpSetData, func(zktest.Request) { close(reached); <-held })
			ctx, cancel := context.WithCancel(s.Ctx)
			first := make(chan error, 1)
			go func() { first <- term.SetInfo(ctx, "first") }()
			<-reached
			cancel()
			require.ErrorIs(s.T, <-first, context.Canceled)
			second := make(chan error, 1)
			go func() { second <- term.SetInfo(s.Ctx, "second") }()
			s.settle()
			require.EqualValues(s.T, 1, writes.Load())
			free()
			require.NoError(s.T, <-second)
			require.EqualValues(s.T, 2, writes.Load())
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("AnAbandonedCallThatTookEffectIsKnown", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			ctx, cancel := context.WithCancel(s.Ctx)
			s.Of(c).AtReply(zktest.OpSetData, func(zktest.Request) { cancel(); s.Pass(100 * time.Millisecond) })
			require.ErrorIs(s.T, term.SetInfo(ctx, "new"), context.Canceled)
			s.Pass(time.Second)
			require.Equal(s.T, "new", s.info(e))
			_, status := s.check(e.Handler(0))
			require.Equal(s.T, "new", *status.Leader)
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("SendsNothingOnceTheTermHasEnded", func(t *testing.T) {
		virtually(t, func(s *scene) {
			var sent atomic.Int64
			c := s.tapped("a", func() { sent.Add(1) })
			term := s.lead(s.election(c, "a"))
			held := make(chan struct{})
			free := sync.OnceFunc(func() { close(held) })
			s.T.Cleanup(free)
			s.Of(c).At(zktest.OpDelete, func(zktest.Request) { <-held }) // the node stands
			ctx, cancel := context.WithCancel(s.Ctx)
			cancel()
			require.ErrorIs(s.T, term.Resign(ctx), context.Canceled)
			for range 20 {
				require.ErrorIs(s.T, term.SetInfo(s.Ctx, "late"), zklock.ErrReleased)
			}
			s.settle()
			require.Zero(s.T, sent.Load())
			free()
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("CallsTakeTurns", func(t *testing.T) {
		virtually(t, func(s *scene) {
			var sent, answered, most atomic.Int64
			c := s.tapped("a", func() { most.Store(max(most.Load(), sent.Add(1)-answered.Load())) })
			term := s.lead(s.election(c, "a"))
			s.T.Cleanup(s.OnReply(func(r zktest.Request) {
				if r.Op == zktest.OpSetData {
					answered.Add(1)
				}
			}))
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() { require.NoError(s.T, term.SetInfo(s.Ctx, "x")) })
			}
			wg.Wait()
			require.EqualValues(s.T, 20, sent.Load())
			require.EqualValues(s.T, 1, most.Load(), "under way at a time")
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

	t.Run("EndsWithTheTermThoughTheSessionGoesOn", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			term := s.lead(e)
			of := s.Of(c)
			of.Freeze(zktest.BothWays)
			said := make(chan error, 1)
			go func() { said <- term.SetInfo(s.Ctx, "x") }()
			s.settle()
			ctx, cancel := context.WithCancel(s.Ctx)
			cancel()
			began := time.Now()
			require.ErrorIs(s.T, term.Resign(ctx), context.Canceled)
			require.ErrorIs(s.T, <-said, zklock.ErrReleased)
			require.Less(s.T, time.Since(began), time.Millisecond)
			of.Unfreeze()
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})
}

// tapped is Dial with a word for each setData request that leaves the client.
func (s *scene) tapped(host string, sent func()) *zkconn.Client {
	return s.Dial(host, zkconn.WithDialer(func(network, address string, timeout time.Duration) (net.Conn, error) {
		conn, err := s.Dialer(host)(network, address, timeout)
		if err != nil {
			return nil, err
		}
		return tap{conn, sent}, nil
	}))
}

type tap struct {
	net.Conn
	sent func()
}

func (c tap) Write(b []byte) (int, error) {
	const op = 4 + 4 // after the frame's length and the xid
	if len(b) >= op+4 && zktest.Op(binary.BigEndian.Uint32(b[op:])) == zktest.OpSetData {
		c.sent()
	}
	return c.Conn.Write(b)
}
