package election_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// takeover is a leader that issues commands for as long as its lead may, a
// standby behind it, and what became of both.
type takeover struct {
	s      *scene
	old    *zkconn.Client
	of     *zktest.Target // the old leader's connections
	node   string         // its candidate's, as a full path
	ledger *stage.Ledger

	term   *election.Term
	lead   context.Context // what lead was given
	told   chan struct{}   // it has ended
	toldAt time.Time
	stood  bool // the node was there at that moment

	standby *campaign
	over    bool          // the old leader had been told when the standby won
	left    time.Duration // what its term could be trusted for just before
}

// standoff has a lead and b stand behind it.
func (s *scene) standoff(a, b string) *takeover {
	s.T.Helper()
	old, e := s.candidate(a)
	o := &takeover{s: s, old: old, ledger: stage.NewLedger(), told: make(chan struct{})}
	ctx, cancel := context.WithCancel(s.Ctx)
	began := make(chan struct{})
	var once sync.Once
	run := make(chan struct{})
	go func() {
		defer close(run)
		_ = e.Run(ctx, func(ctx context.Context, t *election.Term) error {
			once.Do(func() { o.lead, o.term = ctx, t; close(began) })
			<-ctx.Done()
			return nil
		})
	}()
	s.T.Cleanup(func() { cancel(); <-run })
	s.Ended(began, s.Timeout, "the first never led")
	require.Len(s.T, s.Nodes(), 1)
	o.node = s.Path + "/" + s.Nodes()[0]
	o.of = s.Of(old)
	context.AfterFunc(o.lead, func() {
		defer close(o.told)
		o.toldAt, o.stood = time.Now(), s.Operator.Exists(o.node)
	})
	_, next := s.candidate(b)
	o.standby = &campaign{done: make(chan struct{})}
	go func() {
		c := o.standby
		defer close(c.done)
		c.term, c.err = next.Campaign(s.Ctx)
		o.left = o.term.Remaining()
		c.at, o.over = time.Now(), o.lead.Err() != nil
	}()
	s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the standby's node")
	return o
}

// command sends one of the old leader's.
func (o *takeover) command() error { return o.ledger.Write(o.s.Ctx, o.term.Next()) }

// play issues commands until the old leader is told, then the standby's once that
// leads. It returns what went wrong.
func (o *takeover) play(within time.Duration) error {
	limit := time.After(within)
	for told := o.told; told != nil; {
		if o.lead.Err() == nil {
			if err := o.command(); err != nil {
				return fmt.Errorf("the leader's command: %w", err)
			}
		}
		select {
		case <-told:
			told = nil
		case <-time.After(o.s.Timeout / 40):
		case <-limit:
			return errors.New("the leader was never told")
		}
	}
	c := o.standby
	select {
	case <-c.done:
	case <-limit:
		return errors.New("the standby never led")
	}
	switch {
	case c.err != nil:
		return c.err
	case o.left > 0:
		return fmt.Errorf("the standby led when the leader could trust its term for %v more", o.left)
	// On a busy machine a context may end as late as its goroutines get to run; who
	// asks the term is told the truth all the same.
	case !o.s.Real && (!o.over || !o.toldAt.Before(c.at)):
		return fmt.Errorf("the standby led at %v, the leader was told at %v", c.at, o.toldAt)
	case c.term.Token().Compare(o.term.Token()) <= 0:
		return fmt.Errorf("token %v after %v", c.term.Token(), o.term.Token())
	}
	return errors.Join(o.ledger.Write(o.s.Ctx, c.term.Next()), o.ledger.Broken())
}

// late is the old leader waking up: it must not act, and if it does it is refused.
func (o *takeover) late() error {
	if o.term.Remaining() > 0 {
		return fmt.Errorf("the old leader has %v left", o.term.Remaining())
	}
	if err := o.term.Ready(o.s.Ctx, 0); !errors.Is(err, zklock.ErrLost) {
		return fmt.Errorf("the old leader was ready: %w", err)
	}
	if !errors.Is(context.Cause(o.lead), zklock.ErrLost) {
		return fmt.Errorf("lead's context ended with %w", context.Cause(o.lead))
	}
	var stale *fencing.StaleError
	if err := o.command(); !errors.As(err, &stale) || !errors.Is(err, fencing.ErrStale) {
		return fmt.Errorf("the late command: %w", err)
	}
	if stale.Presented.Token != o.term.Token() || stale.Highest.Token != o.standby.term.Token() {
		return fmt.Errorf("the refusal names %v and %v", stale.Presented, stale.Highest)
	}
	return o.ledger.Broken()
}

// The leader is cut off and nobody tells it anything. lead's context ends by this
// process's own clock, while the node still stands, so before anybody else leads.
func TestALeaderThatHearsNothingIsToldByItsOwnClock(t *testing.T) {
	for claim, silence := range stage.Silences() {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				o := s.standoff("a", "b")
				s.Pass(s.Timeout + 77*time.Millisecond)
				require.Equal(s.T, zklock.Held, o.term.State())
				begun := time.Now()
				silence(o.of)
				require.NoError(s.T, o.play(4*s.Timeout))
				require.Less(s.T, o.toldAt.Sub(begun), s.Timeout)
				require.True(s.T, o.stood, "the node was given away before its leader was told")
				require.Equal(s.T, zklock.TrustRanOut, s.lost(o.term, s.Timeout))
				o.of.Heal()
				require.NoError(s.T, o.late())
				require.NoError(s.T, o.standby.term.Resign(s.Ctx))
			})
		})
	}
}

// runs is how often a leader is frozen, each time at another moment between its
// proofs, its pings and the server's ticks.
const runs = 50

// A leader that learns of its loss a moment after the next one has begun has that
// moment to do harm. Here the loss comes first in every run, and when the ice
// breaks the old leader's commands are refused.
func TestTheLossComesFirstWhateverThePhase(t *testing.T) {
	directions := [...]zktest.Direction{zktest.BothWays, zktest.ToClient, zktest.ToServer}
	everywhere(t, func(all *scene) {
		n := runs
		if all.Real {
			n = (runs + stage.RealCopies - 1) / stage.RealCopies
		}
		failures := make([]error, n)
		var wg sync.WaitGroup
		for i := range n {
			s := all.below(fmt.Sprint(i))
			s.Timeout = 6 * time.Second
			o := s.standoff(fmt.Sprintf("a%d", i), fmt.Sprintf("b%d", i))
			wg.Go(func() {
				s.Pass(s.Timeout/4 + s.Timeout*time.Duration(i)/time.Duration(n))
				o.of.Freeze(directions[i%len(directions)])
				if failures[i] = o.play(4 * s.Timeout); failures[i] == nil {
					o.of.Unfreeze()
					failures[i] = o.late()
				}
			})
		}
		wg.Wait()
		for i, err := range failures {
			require.NoError(all.T, err, "run %d of %d", i, n)
		}
	})
}

// An operator deletes the leader's node. The next in line leads from that moment,
// so the leader is told at once, by the watch on its own node.
func TestADeletedNodeIsALossAtOnce(t *testing.T) {
	everywhere(t, func(s *scene) {
		o := s.standoff("a", "b")
		require.NoError(s.T, o.command())
		// Just after a proof: the next one, which would tell as well, is far away.
		answered := make(chan struct{})
		o.of.AtReply(zktest.OpMulti, func(zktest.Request) { close(answered) })
		s.Ended(answered, s.Timeout, "the leader proves nothing")
		require.NoError(s.T, s.Operator.Delete(o.node))
		require.Equal(s.T, zklock.NodeDeleted, s.lost(o.term, s.Timeout/10))
		s.Ended(o.told, s.Timeout/10, "lead is not told")
		next := s.won(o.standby, s.Timeout)
		require.NoError(s.T, o.ledger.Write(s.Ctx, next.Next()))
		require.NoError(s.T, o.late())
		require.NoError(s.T, next.Context().Err(), "what the old leader does late touches nobody")
		s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the old leader stands again")
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

// An operator deletes the whole directory. Leader and standby are told; the next
// candidate makes it again, where sequence numbers begin at 0 once more. Tokens do
// not.
func TestADeletedDirectoryIsALossAndTokensStillRise(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		ledger := stage.NewLedger()
		first := s.runs(s.Ctx, a)
		old := first.begins(s.Timeout)
		require.NoError(s.T, ledger.Write(s.Ctx, old.term.Next()))
		second := s.runs(s.Ctx, b)
		s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the standby's node")
		// Whoever deletes a directory deletes it until it is gone.
		s.Eventually(s.Timeout, func() bool { return s.Operator.Delete(s.Path) == nil || !s.Operator.Exists(s.Path) }, "the directory's end")
		require.Equal(s.T, zklock.NodeDeleted, s.lost(old.term, s.Timeout/4))
		// The standby leads on a new node; before that for a moment on its first, if the
		// operator's hand reached that second.
		var next *reign
		for over := true; over; {
			next = second.begins(s.Timeout)
			s.Eventually(s.Timeout, func() bool { over = next.ctx.Err() != nil; return over || len(s.Nodes()) > 0 }, "the standby stands again")
			if over {
				next.answer <- nil
			}
		}
		require.Positive(s.T, next.term.Token().Compare(old.term.Token()))
		require.NoError(s.T, ledger.Write(s.Ctx, next.term.Next()))
		require.ErrorIs(s.T, ledger.Write(s.Ctx, old.term.Next()), fencing.ErrStale)
		require.NoError(s.T, ledger.Broken())
		old.answer <- nil
		next.answer <- nil
		require.NoError(s.T, second.returns(s.Timeout))
		first.begins(s.Timeout).answer <- nil
		require.NoError(s.T, first.returns(s.Timeout))
		s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 0 }, "an empty directory")
	})
}
