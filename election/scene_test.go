package election_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// scene is where one fault of an election is played.
type scene struct{ *stage.Scene }

func playing(play func(s *scene)) func(*stage.Scene) {
	return func(s *stage.Scene) { play(&scene{s}) }
}

func everywhere(t *testing.T, play func(s *scene)) {
	t.Helper()
	stage.Everywhere(t, playing(play))
}

func virtually(t *testing.T, play func(s *scene), opts ...bubble.Option) {
	t.Helper()
	stage.Virtually(t, playing(play), opts...)
}

func overTCP(t *testing.T, play func(s *scene)) {
	t.Helper()
	stage.OverTCP(t, playing(play))
}

// server is the in-memory one, where the case is played in virtual time.
func (s *scene) server() *zktest.Server { return s.Operator.(*zktest.Server) }

// settle lets everything happen that is under way in virtual time: latencies are
// far below it.
func (s *scene) settle() {
	s.Pass(100 * time.Millisecond)
	synctest.Wait()
}

func (s *scene) election(c *zkconn.Client, info string, opts ...zklock.Option) *election.Election {
	s.T.Helper()
	e, err := election.New(c, s.Path, info, opts...)
	require.NoError(s.T, err)
	return e
}

// candidate is an Election on a Client of its own, with the host's name for info.
func (s *scene) candidate(host string, opts ...zklock.Option) (*zkconn.Client, *election.Election) {
	s.T.Helper()
	c := s.Dial(host)
	return c, s.election(c, host, opts...)
}

// lead campaigns, or fails the test if that takes longer than a session timeout.
func (s *scene) lead(e *election.Election) *election.Term {
	s.T.Helper()
	ctx, cancel := context.WithTimeout(s.Ctx, s.Timeout)
	defer cancel()
	t, err := e.Campaign(ctx)
	require.NoError(s.T, err)
	return t
}

// campaign is a call to Campaign under way.
type campaign struct {
	term *election.Term
	err  error
	at   time.Time
	done chan struct{}
}

func (c *campaign) returned() bool { return closed(c.done) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stands calls Campaign on a goroutine and returns once its node does, or it has
// returned.
func (s *scene) stands(ctx context.Context, e *election.Election) *campaign {
	s.T.Helper()
	before := len(s.Nodes())
	c := &campaign{done: make(chan struct{})}
	go func() {
		defer close(c.done)
		c.term, c.err = e.Campaign(ctx)
		c.at = time.Now()
	}()
	s.Eventually(s.Timeout, func() bool { return c.returned() || len(s.Nodes()) > before }, "the candidate's node")
	return c
}

// won waits for a campaign to be.
func (s *scene) won(c *campaign, within time.Duration) *election.Term {
	s.T.Helper()
	s.Ended(c.done, within, "Campaign has not returned")
	require.NoError(s.T, c.err)
	return c.term
}

// lost waits for the end of a term and returns why.
func (s *scene) lost(t *election.Term, within time.Duration) zklock.Reason {
	s.T.Helper()
	s.Ended(t.Context().Done(), within, "the term has not ended")
	var lost *zklock.LostError
	require.ErrorAs(s.T, context.Cause(t.Context()), &lost)
	require.Equal(s.T, t.Token(), lost.Token)
	return lost.Reason
}

// ballot is a call to Run under way. Its lead says that it has begun and does as
// it is told.
type ballot struct {
	s     *scene
	terms chan *reign
	err   error
	done  chan struct{}
}

// reign is one call of lead.
type reign struct {
	ctx    context.Context
	term   *election.Term
	answer chan error // what lead is to return
}

// runs calls Run.
func (s *scene) runs(ctx context.Context, e *election.Election) *ballot {
	b := &ballot{s: s, terms: make(chan *reign), done: make(chan struct{})}
	go func() {
		defer close(b.done)
		b.err = e.Run(ctx, func(ctx context.Context, t *election.Term) error {
			r := &reign{ctx, t, make(chan error, 1)}
			b.terms <- r
			return <-r.answer
		})
	}()
	return b
}

// begins waits until lead has been called.
func (b *ballot) begins(within time.Duration) *reign {
	b.s.T.Helper()
	select {
	case r := <-b.terms:
		return r
	case <-b.done:
		require.FailNow(b.s.T, "Run has returned", "%v", b.err)
	case <-time.After(within):
		require.FailNow(b.s.T, "never led", "within %v", within)
	}
	return nil
}

// returns waits for Run's error.
func (b *ballot) returns(within time.Duration) error {
	b.s.T.Helper()
	s := b.s
	select {
	case <-b.done:
	case <-b.terms:
		require.FailNow(s.T, "led again")
	case <-time.After(within):
		require.FailNow(s.T, "Run has not returned", "within %v", within)
	}
	return b.err
}

// below is the same scene on a path of its own within this one's.
func (s *scene) below(name string) *scene { return &scene{s.Below(name)} }
