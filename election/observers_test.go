package election_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// The leader that the list shows has gone when it is read, or another one has come:
// the everyday race of every change of leader. An observer that took it for an
// error would end just when it is needed.
func TestALeaderThatVanishesBetweenListAndReadIsNoError(t *testing.T) {
	for claim, look := range map[string]func(s *scene, e *election.Election, want election.Leader){
		"Leader": func(s *scene, e *election.Election, want election.Leader) {
			l, err := e.Leader(s.Ctx)
			if want == (election.Leader{}) {
				require.ErrorIs(s.T, err, election.ErrNoLeader)
				return
			}
			require.NoError(s.T, err)
			require.Equal(s.T, want, l)
		},
		"Observe": func(s *scene, e *election.Election, want election.Leader) {
			o := s.observes(e, nil)
			o.sees(want, s.Timeout)
			o.stop()
			require.Empty(s.T, o.errs.read())
			require.Equal(s.T, []election.Leader{want}, o.seen.read(), "nobody leads is not said in between")
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				_, a := s.candidate("a")
				_, b := s.candidate("b")
				meanwhile := func(vanish func(), want election.Leader) {
					c, watcher := s.candidate("w") // without a watch of its own yet
					vanished := false
					s.Of(c).AtReply(zktest.OpGetChildren2, func(zktest.Request) { vanish(); vanished = true })
					look(s, watcher, want)
					require.True(s.T, vanished)
					require.GreaterOrEqual(s.T, s.Of(c).Count(zktest.OpGetChildren2), 2, "it has looked again")
				}
				for range 3 {
					term := s.lead(a)
					standby := s.stands(s.Ctx, b)
					meanwhile(func() { _ = term.Resign(s.Ctx); <-standby.done }, s.second())
					next := s.won(standby, s.Timeout)
					meanwhile(func() { _ = next.Resign(s.Ctx) }, election.Leader{})
				}
			})
		})
	}
}

// second is the standby as it will be shown once it leads.
func (s *scene) second() election.Leader {
	s.T.Helper()
	_, e := s.candidate("reader")
	line, err := e.Queue(s.Ctx)
	require.NoError(s.T, err)
	require.Len(s.T, line, 2)
	return election.Leader{Info: line[1].Info, Epoch: line[1].Epoch}
}

// rotate has e lead for short terms until ctx ends, or as long as it may.
func rotate(ctx context.Context, e *election.Election, upTo time.Duration) error {
	for {
		err := e.Run(ctx, func(ctx context.Context, t *election.Term) error {
			if rand.N(2) == 0 {
				_ = t.SetInfo(ctx, fmt.Sprint("info of ", t.Token()))
			}
			select {
			case <-ctx.Done():
			case <-time.After(upTo/2 + rand.N(upTo/2)):
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// Leaders change all the time, connections are cut and sessions end, those of the
// observers among them. Within a second of calm every observer says what is true,
// and none has had an error.
func TestTwentyObserversAgreeWithTheTruthWithinASecondOfCalm(t *testing.T) {
	everywhere(t, func(s *scene) {
		const observers, candidates, clients = 20, 3, 4
		rounds, unrest := 8, 5*time.Second
		if s.Real || stage.Raced {
			rounds, unrest = 2, 3*time.Second
		}
		_, reader := s.candidate("reader")
		var disturbed []*zkconn.Client
		var es []*election.Election
		for i := range candidates {
			c, e := s.candidate(fmt.Sprint("c", i))
			disturbed = append(disturbed, c)
			es = append(es, e)
		}
		var all []*observer
		for i := range clients {
			c, e := s.candidate(fmt.Sprint("w", i))
			disturbed = append(disturbed, c)
			for range observers / clients {
				all = append(all, s.observes(e, nil))
			}
		}
		leaders := map[election.Leader]bool{}
		for range rounds {
			ctx, cancel := context.WithCancel(s.Ctx)
			done := make(chan error, candidates)
			for _, e := range es {
				go func() { done <- rotate(ctx, e, 200*time.Millisecond) }()
			}
			for end := time.Now().Add(unrest); time.Now().Before(end); {
				c := disturbed[rand.N(len(disturbed))]
				if id, ok := s.present(c); !ok {
					// between two sessions
				} else if rand.N(10) == 0 {
					_ = s.Expire(id) // it may be over already
				} else {
					s.For(id).Cut()
				}
				s.Pass(100 * time.Millisecond)
			}
			cancel()
			for range candidates {
				require.ErrorIs(s.T, <-done, context.Canceled)
			}
			// Once with somebody, once with nobody.
			term := s.lead(es[0])
			s.agree(reader, all)
			l, err := reader.Leader(s.Ctx)
			require.NoError(s.T, err)
			require.Equal(s.T, leader("c0", term), l)
			leaders[l] = true
			require.NoError(s.T, term.Resign(s.Ctx))
			s.agree(reader, all)
		}
		require.Len(s.T, leaders, rounds)
		for _, o := range all {
			o.stop()
			require.Empty(s.T, o.errs.read())
			seen := o.seen.read()
			require.Greater(s.T, len(seen), 2*rounds)
			for i := 1; i < len(seen); i++ {
				require.NotEqual(s.T, seen[i-1], seen[i], "the same twice")
			}
		}
	})
}

// present is a client's session, if it has one just now.
func (s *scene) present(c *zkconn.Client) (int64, bool) {
	ctx, cancel := context.WithTimeout(s.Ctx, time.Millisecond)
	defer cancel()
	session, err := c.Session(ctx)
	if err != nil {
		return 0, false
	}
	return session.ID(), true
}

// agree lets a second of calm go by, in which who leads does not change.
func (s *scene) agree(reader *election.Election, all []*observer) {
	s.T.Helper()
	truth := func() election.Leader {
		l, err := reader.Leader(s.Ctx)
		if err != nil {
			require.ErrorIs(s.T, err, election.ErrNoLeader)
		}
		return l
	}
	calm := truth()
	s.Pass(time.Second)
	require.Equal(s.T, calm, truth(), "this was no calm")
	for i, o := range all {
		last, ok := o.last()
		require.True(s.T, ok)
		require.Equal(s.T, calm, last, "observer %d", i)
	}
}

// 1,000 observers of 10 Clients see a change of leader at the price of ten, and ask
// when the winner has asked: before that, ten thousand observing processes would
// stand in the line between it and its proof.
func TestAThousandObserversAskAsTenClients(t *testing.T) {
	virtually(t, func(s *scene) {
		_, a := s.candidate("a")
		term := s.lead(a)
		var all []*observer
		for i := range 10 {
			_, e := s.candidate(fmt.Sprint("w", i))
			for range 100 {
				all = append(all, s.observes(e, nil))
			}
		}
		s.settle()
		_, b := s.candidate("b")
		standby := s.stands(s.Ctx, b)
		s.settle()
		s.ResetCounts()
		since := s.mark()
		require.NoError(s.T, term.Resign(s.Ctx))
		next := s.won(standby, s.Timeout)
		s.settle()
		require.Equal(s.T, 10, s.Count(zktest.OpGetData))
		require.Equal(s.T, 11, s.Count(zktest.OpGetChildren2), "the winner's among them")
		var order []zktest.Op
		for _, r := range s.Requests() {
			if r.N > since {
				order = append(order, r.Op)
			}
		}
		require.ElementsMatch(s.T, []zktest.Op{zktest.OpDelete, zktest.OpMulti, zktest.OpGetChildren2}, order[:3], "%v", order)
		for _, o := range all {
			last, _ := o.last()
			require.Equal(s.T, leader("b", next), last)
		}
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}
