package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// takeover is a holder and a waiter behind it, and what became of both.
type takeover struct {
	s        *scene
	holder   *zkconn.Client
	session  int64          // the holder's
	of       *zktest.Target // its connections
	hold     *zklock.Hold
	node     string // the hold's, as a full path
	resource *stage.Ledger

	ended  chan struct{} // the holder's context has ended
	lostAt time.Time
	stood  bool // its node was there at that moment

	waiter *zkconn.Client
	won    chan struct{} // its Lock has returned
	next   *zklock.Hold
	err    error
	wonAt  time.Time
	over   bool          // the holder's context had ended by then
	left   time.Duration // what the hold could be trusted for just before
}

// standoff has a hold the lock and b wait for it.
func (s *scene) standoff(a, b string, opts ...zkconn.Option) *takeover {
	s.T.Helper()
	client := s.Dial(a, opts...)
	o := &takeover{s: s, holder: client, resource: stage.NewLedger(), ended: make(chan struct{}), won: make(chan struct{})}
	o.hold = s.lock(s.mutex(client), s.Timeout)
	session, err := client.Session(s.Ctx)
	require.NoError(s.T, err)
	require.Equal(s.T, s.Timeout, session.Timeout(), "the servers grant less than this case needs")
	o.session, o.of = session.ID(), s.For(session.ID())
	require.Len(s.T, s.Nodes(), 1)
	o.node = s.Path + "/" + s.Nodes()[0]
	context.AfterFunc(o.hold.Context(), func() {
		defer close(o.ended)
		o.lostAt, o.stood = time.Now(), s.Operator.Exists(o.node)
	})
	o.waiter = s.Dial(b, opts...)
	m := s.mutex(o.waiter)
	go func() {
		defer close(o.won)
		o.next, o.err = m.Lock(s.Ctx)
		o.left = o.hold.Remaining()
		o.wonAt, o.over = time.Now(), o.hold.Context().Err() != nil
	}()
	s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the waiter's node")
	return o
}

// lost waits for the end of the hold and for what is noted about it.
func (o *takeover) lost(within time.Duration) zklock.Reason {
	o.s.T.Helper()
	why := o.s.lost(o.hold, within).Reason
	<-o.ended
	return why
}

// play writes as the holder until its context ends, then as the waiter once that
// holds. It returns what went wrong.
func (o *takeover) play(within time.Duration) error {
	ctx := o.s.Ctx
	limit := time.After(within)
	for ended := o.ended; ended != nil; {
		if o.hold.Context().Err() == nil {
			if err := o.resource.Write(ctx, o.hold.Next()); err != nil {
				return fmt.Errorf("the holder's write: %w", err)
			}
		}
		select {
		case <-ended:
			ended = nil
		case <-time.After(o.s.Timeout / 40):
		case <-limit:
			return errors.New("the holder was never told")
		}
	}
	select {
	case <-o.won:
	case <-limit:
		return errors.New("the waiter never held")
	}
	switch {
	case o.err != nil:
		return o.err
	case o.left > 0:
		return fmt.Errorf("the waiter held when the holder could trust its hold for %v more", o.left)
	// On a busy machine a context may end as late as its goroutines get to run; who
	// asks the hold is told the truth all the same.
	case !o.s.Real && (!o.over || !o.lostAt.Before(o.wonAt)):
		return fmt.Errorf("the waiter held at %v, the holder was told at %v", o.wonAt, o.lostAt)
	case o.next.Token().Compare(o.hold.Token()) <= 0:
		return fmt.Errorf("token %v after %v", o.next.Token(), o.hold.Token())
	}
	return errors.Join(o.resource.Write(ctx, o.next.Next()), o.resource.Broken())
}

// late is the old holder waking up: it must not act, and if it does it is refused.
func (o *takeover) late() error {
	h := o.hold
	if state := h.State(); state != zklock.Lost && state != zklock.Idle || h.Remaining() > 0 {
		return fmt.Errorf("the old holder reads %v, %v left", state, h.Remaining())
	}
	if err := h.Ready(o.s.Ctx, 0); !errors.Is(err, zklock.ErrLost) {
		return fmt.Errorf("the old holder was ready: %w", err)
	}
	var stale *fencing.StaleError
	if err := o.resource.Write(o.s.Ctx, h.Next()); !errors.As(err, &stale) || !errors.Is(err, fencing.ErrStale) {
		return fmt.Errorf("the late write: %w", err)
	}
	if stale.Presented.Token != h.Token() || stale.Highest.Token != o.next.Token() {
		return fmt.Errorf("the refusal names %v and %v", stale.Presented, stale.Highest)
	}
	return o.resource.Broken()
}

// A holder is cut off and nobody tells it anything. Its context ends by its own
// clock, while its node still stands, so before anybody else can have acquired.
func TestAHolderThatHearsNothingIsToldByItsOwnClock(t *testing.T) {
	for claim, silence := range stage.Silences() {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				o := s.standoff("a", "b")
				s.Pass(s.Timeout + 77*time.Millisecond)
				require.Equal(s.T, zklock.Held, o.hold.State())
				begun := time.Now()
				silence(o.of)
				require.NoError(s.T, o.play(4*s.Timeout))
				require.Less(s.T, o.lostAt.Sub(begun), s.Timeout)
				require.True(s.T, o.stood, "the node was given away before its holder was told")
				require.Equal(s.T, zklock.TrustRanOut, o.lost(s.Timeout))
				o.of.Heal()
				require.NoError(s.T, o.late())
			})
		})
	}
}

// A client library says "connected" as soon as TCP is, and "has a session" after a
// handshake that a cut-off server can answer by itself. Only an answer that a
// majority stands behind makes a hold Held.
func TestAConnectionIsNotTakenForHealth(t *testing.T) {
	for claim, silence := range stage.Silences() {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				o := s.standoff("a", "b")
				s.Pass(s.Timeout)
				silence(o.of)
				s.Pass(s.Timeout/4 + 10*time.Millisecond) // the newest proof is older than that now
				for left := o.hold.Remaining(); o.hold.Context().Err() == nil; {
					require.NotEqual(s.T, zklock.Held, o.hold.State())
					require.LessOrEqual(s.T, o.hold.Remaining(), left, "silence adds no trust")
					left = o.hold.Remaining()
					s.Pass(s.Timeout / 100)
				}
				require.ErrorIs(s.T, o.hold.Ready(s.Ctx, 0), zklock.ErrLost)
				<-o.won
				require.NoError(s.T, o.err)
			})
		})
	}
}

// Answers take longer to arrive than the safety margin is long. The ensemble has
// counted from the question, so trust does too.
func TestAnAnswerThatWasLongUnderWayAddsNoTrust(t *testing.T) {
	const phases = 8
	for i := range phases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			virtually(t, func(s *scene) {
				o := s.standoff("a", "b")
				s.Net.SetLatency(s.Servers[0], "a", s.Timeout/8, s.Timeout/8)
				s.Pass(2*s.Timeout + s.Timeout/8*time.Duration(i)/phases)
				o.of.Freeze(zktest.ToServer)
				require.NoError(s.T, o.play(4*s.Timeout))
				require.True(s.T, o.stood)
				o.of.Heal()
				require.NoError(s.T, o.late())
			})
		})
	}
}

// runs is how often a holder is frozen, each time at another moment between its
// proofs, its pings and the server's ticks.
const runs = 50

// A holder that learns of its loss a moment after the next one has begun has that
// moment to do harm. Libraries that wait for the server to say so were late in
// every run. Here the loss comes first in every run, and when the ice breaks the
// old holder is refused.
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
