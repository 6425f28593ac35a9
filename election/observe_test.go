package election_test

import (
	"context"
	"errors"
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

// observer is a loop over Observe on a goroutine of its own.
type observer struct {
	s      *scene
	seen   journal[election.Leader]
	errs   journal[error]
	cancel context.CancelFunc
	done   chan struct{}
}

// observes begins to observe; each, if not nil, is the loop's body.
func (s *scene) observes(e *election.Election, each func(election.Leader)) *observer {
	ctx, cancel := context.WithCancel(s.Ctx)
	o := &observer{s: s, cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(o.done)
		for l, err := range e.Observe(ctx) {
			if err != nil {
				o.errs.write(err)
				continue // whether anything comes after it is for the test to see
			}
			o.seen.write(l)
			if each != nil {
				each(l)
			}
		}
	}()
	s.T.Cleanup(o.stop)
	return o
}

func (o *observer) stop() {
	o.cancel()
	<-o.done
}

// last is what it was shown last; false: nothing yet.
func (o *observer) last() (election.Leader, bool) {
	seen := o.seen.read()
	if len(seen) == 0 {
		return election.Leader{}, false
	}
	return seen[len(seen)-1], true
}

// sees waits until it has been shown that.
func (o *observer) sees(l election.Leader, within time.Duration) {
	o.s.T.Helper()
	o.s.Eventually(within, func() bool { last, ok := o.last(); return ok && last == l }, "an observer sees "+l.Info)
}

func leader(info string, t *election.Term) election.Leader {
	return election.Leader{Info: info, Epoch: t.Token().Uint64()}
}

func TestObserveShowsWhoLeadsAtOnceAndEachChange(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		_, watcher := s.candidate("w")
		early := s.observes(watcher, nil)
		early.sees(election.Leader{}, s.Timeout) // before there is even a directory
		first := s.lead(a)
		early.sees(leader("a", first), s.Timeout)
		late := s.observes(watcher, nil)
		late.sees(leader("a", first), s.Timeout)
		require.NoError(s.T, first.SetInfo(s.Ctx, "a:2"))
		early.sees(leader("a:2", first), s.Timeout)
		late.sees(leader("a:2", first), s.Timeout)
		waiting := s.stands(s.Ctx, b)
		require.NoError(s.T, first.Resign(s.Ctx))
		second := s.won(waiting, s.Timeout)
		early.sees(leader("b", second), s.Timeout)
		late.sees(leader("b", second), s.Timeout)
		require.NoError(s.T, second.Resign(s.Ctx))
		early.sees(election.Leader{}, s.Timeout)
		late.sees(election.Leader{}, s.Timeout)
		third := s.lead(a)
		early.sees(leader("a", third), s.Timeout)
		late.sees(leader("a", third), s.Timeout)
		early.stop()
		late.stop()
		all := []election.Leader{{}, leader("a", first), leader("a:2", first), leader("b", second), {}, leader("a", third)}
		require.Equal(s.T, all, early.seen.read(), "each once")
		require.Equal(s.T, all[1:], late.seen.read())
		require.Empty(s.T, early.errs.read(), "an end that was asked for is no error")
		require.NoError(s.T, third.Resign(s.Ctx))
	})
}

// The directory goes and comes back: the observer must wait for its birth.
func TestObserveOutlivesTheDirectory(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, a := s.candidate("a")
		_, watcher := s.candidate("w")
		o := s.observes(watcher, nil)
		for range 3 {
			o.sees(election.Leader{}, s.Timeout)
			term := s.lead(a)
			o.sees(leader("a", term), s.Timeout)
			s.Eventually(s.Timeout, func() bool { return s.Operator.Delete(s.Path) == nil || !s.Operator.Exists(s.Path) }, "the directory's end")
			s.lost(term, s.Timeout)
		}
		o.sees(election.Leader{}, s.Timeout)
	})
}

// A loop that is slow is not shown what has come and gone meanwhile, and then not
// the past but the present.
func TestASlowObserverIsShownTheNewest(t *testing.T) {
	virtually(t, func(s *scene) {
		_, a := s.candidate("a")
		_, watcher := s.candidate("w")
		wait := make(chan struct{})
		o := s.observes(watcher, func(election.Leader) { <-wait })
		s.settle()
		var last *election.Term
		for range 5 {
			if last != nil {
				require.NoError(s.T, last.Resign(s.Ctx))
			}
			last = s.lead(a)
			s.settle()
		}
		require.Equal(s.T, []election.Leader{{}}, o.seen.read())
		close(wait)
		s.settle()
		require.Equal(s.T, []election.Leader{{}, leader("a", last)}, o.seen.read())

		// What has changed and changed back is no change.
		hold := make(chan struct{})
		slow := s.observes(watcher, func(election.Leader) { <-hold })
		s.settle()
		require.NoError(s.T, last.SetInfo(s.Ctx, "b"))
		require.NoError(s.T, last.SetInfo(s.Ctx, "a"))
		s.settle()
		close(hold)
		s.settle()
		require.Equal(s.T, []election.Leader{leader("a", last)}, slow.seen.read())
		require.NoError(s.T, last.Resign(s.Ctx))
	})
}

func TestObserveGoesOnOverReconnectsAndSessions(t *testing.T) {
	for claim, disturb := range map[string]func(s *scene, c *zkconn.Client){
		"Cut":     func(s *scene, c *zkconn.Client) { s.Of(c).Cut() },
		"Expired": func(s *scene, c *zkconn.Client) { require.NoError(s.T, s.Expire(s.Session(c))) },
		"CutOff": func(s *scene, c *zkconn.Client) {
			of := s.Of(c)
			of.Refuse(true)
			of.Cut()
			s.Pass(s.Timeout / 2)
			of.Refuse(false)
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				_, a := s.candidate("a")
				c, watcher := s.candidate("w")
				o := s.observes(watcher, nil)
				o.sees(election.Leader{}, s.Timeout)
				for range 4 {
					disturb(s, c)
					term := s.lead(a)
					o.sees(leader("a", term), s.Timeout)
					disturb(s, c)
					require.NoError(s.T, term.Resign(s.Ctx))
					o.sees(election.Leader{}, s.Timeout)
				}
				require.Empty(s.T, o.errs.read())
				seen := o.seen.read()
				for i := 1; i < len(seen); i++ {
					require.NotEqual(s.T, seen[i-1], seen[i], "the same twice")
				}
			})
		})
	}
}

// What was missed during an outage is found by reading again, not by an event.
func TestObserveFindsWhatChangedDuringAnOutage(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, a := s.candidate("a")
		_, b := s.candidate("b")
		c, watcher := s.candidate("w")
		term := s.lead(a)
		o := s.observes(watcher, nil)
		o.sees(leader("a", term), s.Timeout)
		of := s.Of(c)
		of.Refuse(true)
		of.Cut()
		waiting := s.stands(s.Ctx, b)
		require.NoError(s.T, term.Resign(s.Ctx))
		next := s.won(waiting, s.Timeout)
		s.Pass(s.Timeout / 8)
		require.Len(s.T, o.seen.read(), 1, "nothing can have told it")
		of.Refuse(false)
		o.sees(leader("b", next), s.Timeout)
		require.NoError(s.T, next.Resign(s.Ctx))
	})
}

func TestObserveEnds(t *testing.T) {
	// errored waits for the one error that comes last.
	errored := func(s *scene, o *observer, want error) {
		s.T.Helper()
		s.Ended(o.done, s.Timeout, "the loop goes on")
		errs := o.errs.read()
		require.Len(s.T, errs, 1)
		require.ErrorIs(s.T, errs[0], want)
		require.ErrorContains(s.T, errs[0], s.Path)
	}

	t.Run("WithoutAnErrorWhenItsContextHasEndedBefore", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			ctx, cancel := context.WithCancel(s.Ctx)
			cancel()
			for l, err := range e.Observe(ctx) {
				require.Fail(s.T, "shown something", "%v, %v", l, err)
			}
			require.NoError(s.T, c.Close(s.Ctx))
			for l, err := range e.Observe(ctx) {
				require.Fail(s.T, "shown something", "%v, %v", l, err)
			}
		})
	})

	t.Run("WithErrClosedWhenTheClientIs", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			o := s.observes(e, nil)
			o.sees(election.Leader{}, s.Timeout)
			require.NoError(s.T, c.Close(s.Ctx))
			errored(s, o, zkconn.ErrClosed)
			errored(s, s.observes(e, nil), zkconn.ErrClosed)
		})
	})

	t.Run("WithWhatAServerRefused", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			require.NoError(s.T, s.Operator.Create(s.Path, nil))
			c, e := s.candidate("a")
			session, err := c.Session(s.Ctx)
			require.NoError(s.T, err)
			allow := func(perms int32) {
				_, err = zkconn.Call(s.Ctx, session, func(c *zk.Conn) (*zk.Stat, error) {
					return c.SetACL(s.Path, zk.WorldACL(perms), -1)
				})
				require.NoError(s.T, err)
			}
			allow(zk.PermAll &^ zk.PermRead)
			errored(s, s.observes(e, nil), zk.ErrNoAuth)
			allow(zk.PermAll)
			s.observes(e, nil).sees(election.Leader{}, s.Timeout)
		})
	})

	t.Run("WithAForeignRecipeWheneverItComes", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			_, e := s.candidate("a")
			o := s.observes(e, nil)
			o.sees(election.Leader{}, s.Timeout)
			require.NoError(s.T, s.Operator.Create(s.Path+"/x-lease-0000000000", nil))
			errored(s, o, zklock.ErrForeignRecipe)
		})
	})

	t.Run("WithTheLoop", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			term := s.lead(e)
			_, watcher := s.candidate("w")
			for _, err := range e.Observe(s.Ctx) {
				require.NoError(s.T, err)
				break
			}
			func() {
				defer func() { require.Equal(s.T, "boom", recover()) }()
				for _, err := range watcher.Observe(s.Ctx) {
					require.NoError(s.T, err)
					panic("boom")
				}
			}()
			s.settle()
			before := s.From("w").Count(zktest.AnyOp)
			require.NoError(s.T, term.SetInfo(s.Ctx, "x"))
			s.settle()
			require.Equal(s.T, before, s.From("w").Count(zktest.AnyOp), "nobody follows for nobody")
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})
}

// An observation has failed, and an observer that is slow has not looked yet. Who
// begins now is told of now.
func TestAFailedObservationIsNotSharedWithWhoComesLater(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		stuck := make(chan struct{})
		slow := s.observes(e, func(election.Leader) { <-stuck })
		s.settle()
		require.NoError(s.T, s.Operator.Create(s.Path+"/x-lease-0000000000", nil))
		s.settle()
		require.NoError(s.T, s.Operator.Delete(s.Path+"/x-lease-0000000000"))
		fresh := s.observes(e, nil)
		s.settle()
		require.Equal(s.T, []election.Leader{{}}, fresh.seen.read())
		require.Empty(s.T, fresh.errs.read())
		close(stuck)
		<-slow.done
		require.ErrorIs(s.T, errors.Join(slow.errs.read()...), zklock.ErrForeignRecipe)
		term := s.lead(e)
		s.settle()
		require.Equal(s.T, []election.Leader{{}, leader("a", term)}, fresh.seen.read(), "the end of the first is not the second's")
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}

// One leaves: the others go on. All leave, and one comes back.
func TestObserversOfOneClientComeAndGo(t *testing.T) {
	virtually(t, func(s *scene) {
		c, e := s.candidate("a")
		second := s.election(c, "second")
		one, other := s.observes(e, nil), s.observes(second, nil)
		s.settle()
		one.stop()
		term := s.lead(e)
		other.sees(leader("a", term), time.Second)
		require.Equal(s.T, []election.Leader{{}}, one.seen.read())
		other.stop()
		synctest.Wait()
		require.NoError(s.T, term.SetInfo(s.Ctx, "new"))
		s.observes(e, nil).sees(leader("new", term), time.Second)
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}

// A candidate's node that may not be read still says that somebody leads.
func TestALeaderThatMayNotBeReadIsShownWithoutItsInfo(t *testing.T) {
	everywhere(t, func(s *scene) {
		require.NoError(s.T, s.Operator.Create(s.Path, nil))
		a := s.Dial("a", zkconn.WithAuth("digest", []byte("u:p")))
		term := s.lead(s.election(a, "secret"))
		_, w := s.candidate("w")
		want := election.Leader{Epoch: term.Token().Uint64()}
		l, err := w.Leader(s.Ctx)
		require.NoError(s.T, err)
		require.Equal(s.T, want, l)
		s.observes(w, nil).sees(want, s.Timeout)
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}
