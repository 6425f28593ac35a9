package election_test

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

var errWork = errors.New("work failed")

func TestRunEndsWithLead(t *testing.T) {
	for claim, said := range map[string]error{"Nil": nil, "AnError": errWork} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				_, e := s.candidate("a")
				_, next := s.candidate("b")
				b := s.runs(s.Ctx, e)
				r := b.begins(s.Timeout)
				require.Len(s.T, s.Nodes(), 1)
				token, ok := fencing.FromContext(r.ctx)
				require.True(s.T, ok)
				require.Equal(s.T, r.term.Token(), token)
				waiting := s.stands(s.Ctx, next)
				r.answer <- said
				require.Equal(s.T, said, b.returns(s.Timeout), "lead's error, and nothing else")
				require.ErrorIs(s.T, context.Cause(r.ctx), zklock.ErrReleased)
				require.NoError(s.T, s.won(waiting, s.Timeout).Resign(s.Ctx))
				require.Empty(s.T, s.Nodes())
			})
		})
	}

	t.Run("WhatItSaidOnceItsContextHadEndedIsJoinedToTheCause", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			why := errors.New("shutting down")
			for said, wants := range map[error][]error{errWork: {why, errWork}, nil: {why}} {
				_, e := s.candidate("a")
				ctx, cancel := context.WithCancelCause(s.Ctx)
				b := s.runs(ctx, e)
				r := b.begins(s.Timeout)
				cancel(why)
				s.Ended(r.ctx.Done(), s.Timeout, "lead's context ends with Run's")
				require.Equal(s.T, why, context.Cause(r.ctx))
				require.NoError(s.T, r.term.Context().Err(), "it still leads: it may need to, to stop")
				require.Len(s.T, s.Nodes(), 1)
				r.answer <- said
				err := b.returns(s.Timeout)
				for _, want := range wants {
					require.ErrorIs(s.T, err, want)
				}
				require.NotErrorIs(s.T, err, zklock.ErrLost)
				require.Empty(s.T, s.Nodes(), "it has resigned")
			}
		})
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	why := errors.New("shutting down")

	t.Run("BeforeTheCampaign", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			ctx, cancel := context.WithCancelCause(s.Ctx)
			cancel(why)
			b := s.runs(ctx, e)
			require.ErrorIs(s.T, b.returns(time.Second), why)
			require.Empty(s.T, s.Nodes())
		})
	})

	t.Run("WhileItWaits", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			_, other := s.candidate("other")
			term := s.lead(other)
			_, e := s.candidate("a")
			ctx, cancel := context.WithCancelCause(s.Ctx)
			b := s.runs(ctx, e)
			s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the candidate's node")
			cancel(why)
			err := b.returns(s.Timeout)
			require.ErrorIs(s.T, err, why)
			require.ErrorContains(s.T, err, s.Path)
			s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 1 }, "the candidate's node is gone")
			require.NoError(s.T, term.Resign(s.Ctx))
		})
	})

	t.Run("InThePauseAfterALoss", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			ctx, cancel := context.WithCancelCause(s.Ctx)
			b := s.runs(ctx, e)
			r := b.begins(s.Timeout)
			require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
			s.lost(r.term, s.Timeout)
			r.answer <- errWork
			synctest.Wait() // it has returned
			cancel(why)
			began := time.Now()
			err := b.returns(time.Second)
			require.ErrorIs(s.T, err, why)
			require.NotErrorIs(s.T, err, errWork, "that was another term's")
			require.Less(s.T, time.Since(began), time.Millisecond)
		})
	})
}

// The term is lost and lead takes its time, or never returns: that is the old
// term's business. No other lead begins beside it in this process, and every other
// process can lead at once.
func TestNoLeadBeginsBesideAnother(t *testing.T) {
	everywhere(t, func(s *scene) {
		c, e := s.candidate("a")
		_, other := s.candidate("b")
		ctx, cancel := context.WithCancel(s.Ctx)
		defer cancel()
		b := s.runs(ctx, e)
		r := b.begins(s.Timeout)
		waiting := s.stands(s.Ctx, other)
		require.NoError(s.T, s.Expire(s.Session(c)))
		s.lost(r.term, s.Timeout)
		s.Ended(r.ctx.Done(), s.Timeout, "lead is told")
		require.ErrorIs(s.T, context.Cause(r.ctx), zklock.ErrLost)
		second := s.won(waiting, s.Timeout)
		require.NoError(s.T, second.Resign(s.Ctx), "so that nothing but lead keeps Run")

		select {
		case <-b.terms:
			require.FailNow(s.T, "a second lead")
		case <-time.After(2 * time.Second):
		}
		require.Empty(s.T, s.Nodes(), "it does not even stand")
		r.answer <- errWork
		again := b.begins(s.Timeout)
		require.Positive(s.T, again.term.Token().Compare(second.Token()))
		again.answer <- nil
		require.NoError(s.T, b.returns(s.Timeout))
	})
}

// lead returns nil because it was told to stop: that must not end the candidacy.
func TestALossIsNoEndOfTheCandidacyWhateverLeadReturns(t *testing.T) {
	for claim, said := range map[string]error{"Nil": nil, "AnError": errWork, "ItsContextsError": context.Canceled} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(s *scene) {
				var told journal[error]
				c, e := s.candidate("a", zklock.WithTrace(&zklock.Trace{Returned: func(_ zklock.Attempt, err error) { told.write(err) }}))
				b := s.runs(s.Ctx, e)
				for range 3 {
					r := b.begins(s.Timeout)
					require.NoError(s.T, s.Expire(s.Session(c)))
					s.lost(r.term, s.Timeout)
					r.answer <- said
				}
				b.begins(s.Timeout).answer <- nil
				require.NoError(s.T, b.returns(s.Timeout))
				s.settle()
				require.Equal(s.T, []error{said, said, said, nil}, told.read())
			})
		})
	}
}

// lead returns at the very instant at which the term ends by the clock, before
// anything of ours has run then: that was a loss, not lead's own end.
func TestALeadThatReturnsAtTheEndOfItsTermHasLost(t *testing.T) {
	virtually(t, func(s *scene) {
		const terms, most = 60, time.Second
		_, e := s.candidate("a", zklock.WithMaxHold(most))
		led := 0
		require.NoError(s.T, e.Run(s.Ctx, func(context.Context, *election.Term) error {
			if led++; led <= terms {
				s.Pass(most)
			}
			return nil
		}))
		require.Equal(s.T, terms+1, led)
	})
}

// between is a context of which somebody asks something after lead has returned,
// and before Run resigns.
type between struct {
	context.Context
	lead atomic.Bool // has returned, or is about to
	do   func()
}

func (c *between) Value(key any) any {
	if c.lead.Swap(false) {
		c.do()
	}
	return c.Context.Value(key)
}

// lead has returned while it led, and the node goes before Run has resigned: lead's
// error is all that there is to say.
func TestALossAfterLeadHasReturnedIsNoMatterToRun(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		ctx := &between{Context: s.Ctx}
		var term *election.Term
		ctx.do = func() {
			require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
			s.lost(term, s.Timeout)
		}
		require.NoError(s.T, e.Run(ctx, func(_ context.Context, t *election.Term) error {
			term = t
			ctx.lead.Store(true)
			return nil
		}))
		require.ErrorIs(s.T, context.Cause(term.Context()), zklock.ErrLost)
	})
}

func TestWhatLeadMayDoInside(t *testing.T) {
	inside := func(s *scene, lead func(c *zkconn.Client, e *election.Election, ctx context.Context, t *election.Term) error) error {
		c, e := s.candidate("a")
		done := make(chan struct{})
		var err error
		calls := 0
		go func() {
			defer close(done)
			err = e.Run(s.Ctx, func(ctx context.Context, t *election.Term) error {
				calls++
				return lead(c, e, ctx, t)
			})
		}()
		s.Ended(done, 2*s.Timeout, "Run has not returned")
		require.Equal(s.T, 1, calls)
		return err
	}

	t.Run("Resign", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			err := inside(s, func(_ *zkconn.Client, _ *election.Election, ctx context.Context, t *election.Term) error {
				require.NoError(s.T, t.Resign(s.Ctx))
				require.Empty(s.T, s.Nodes())
				require.ErrorIs(s.T, context.Cause(ctx), zklock.ErrReleased)
				return errWork
			})
			require.Equal(s.T, errWork, err)
		})
	})

	t.Run("CampaignAndRun", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			err := inside(s, func(_ *zkconn.Client, e *election.Election, ctx context.Context, t *election.Term) error {
				for _, resigned := range []bool{false, true} {
					_, err := e.Campaign(ctx)
					require.ErrorIs(s.T, err, election.ErrBusy)
					require.ErrorIs(s.T, e.Run(ctx, func(context.Context, *election.Term) error { return nil }), election.ErrBusy)
					if !resigned {
						require.NoError(s.T, t.Resign(s.Ctx))
					}
				}
				return nil
			})
			require.NoError(s.T, err)
		})
	})

	t.Run("CloseTheClient", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			err := inside(s, func(c *zkconn.Client, _ *election.Election, ctx context.Context, _ *election.Term) error {
				require.NoError(s.T, c.Close(s.Ctx))
				require.ErrorIs(s.T, context.Cause(ctx), zkconn.ErrClosed)
				return errWork
			})
			require.ErrorIs(s.T, err, zkconn.ErrClosed)
			require.ErrorIs(s.T, err, errWork)
			require.Empty(s.T, s.Nodes())
		})
	})

	t.Run("Observe", func(t *testing.T) {
		virtually(t, func(s *scene) {
			err := inside(s, func(_ *zkconn.Client, e *election.Election, ctx context.Context, t *election.Term) error {
				for l, err := range e.Observe(ctx) {
					require.NoError(s.T, err)
					require.Equal(s.T, t.Token().Uint64(), l.Epoch)
					break
				}
				return nil
			})
			require.NoError(s.T, err)
		})
	})
}

// A panic that left the node behind would keep everybody out for as long as the
// process lives on, behind a handler that recovers.
func TestALeadThatNeverReturnsResigns(t *testing.T) {
	for claim, leave := range map[string]func(){
		"Panic":  func() { panic("boom") },
		"Goexit": runtime.Goexit,
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				_, e := s.candidate("a")
				done := make(chan struct{})
				var recovered any
				returned := false
				go func() {
					defer close(done)
					defer func() { recovered = recover() }()
					_ = e.Run(s.Ctx, func(context.Context, *election.Term) error {
						leave()
						return nil
					})
					returned = true
				}()
				s.Ended(done, s.Timeout, "nothing goes on")
				require.False(s.T, returned)
				if claim == "Panic" {
					require.Equal(s.T, "boom", recovered)
				}
				require.Empty(s.T, s.Nodes(), "resigned before the panic went on")
				require.NoError(s.T, s.lead(e).Resign(s.Ctx), "usable again")
			})
		})
	}
}

// What no further campaign can mend ends Run, and says what it is. Retried in
// silence, a candidate that nobody counts on is missing when it is needed.
func TestRunGivesUpWhenCampaigningIsPointless(t *testing.T) {
	refused := func(s *scene, e *election.Election, want error) {
		s.T.Helper()
		err := s.runs(s.Ctx, e).returns(s.Timeout)
		require.ErrorIs(s.T, err, want)
		require.ErrorContains(s.T, err, s.Path)
	}

	t.Run("NilLead", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, e := s.candidate("a")
			require.ErrorContains(s.T, e.Run(s.Ctx, nil), "lead = nil")
			require.NoError(s.T, s.lead(e).Resign(s.Ctx), "not busy")
		})
	})

	t.Run("NoAuth", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			c, e := s.candidate("a")
			session, err := c.Session(s.Ctx)
			require.NoError(s.T, err)
			require.NoError(s.T, s.Operator.Create(s.Path, nil))
			_, err = zkconn.Call(s.Ctx, session, func(c *zk.Conn) (*zk.Stat, error) {
				return c.SetACL(s.Path, zk.WorldACL(zk.PermRead|zk.PermAdmin), -1)
			})
			require.NoError(s.T, err)
			refused(s, e, zk.ErrNoAuth)
			_, err = zkconn.Call(s.Ctx, session, func(c *zk.Conn) (*zk.Stat, error) {
				return c.SetACL(s.Path, zk.WorldACL(zk.PermAll), -1)
			})
			require.NoError(s.T, err)
		})
	})

	t.Run("ForeignRecipe", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			_, e := s.candidate("a")
			require.NoError(s.T, s.Operator.Create(s.Path+"/x-latch-0000000007", nil))
			refused(s, e, zklock.ErrForeignRecipe)
			_, err := e.Leader(s.Ctx)
			require.ErrorIs(s.T, err, zklock.ErrForeignRecipe)
			require.ErrorContains(s.T, err, "x-latch-0000000007")
		})
	})

	t.Run("QueueFull", func(t *testing.T) {
		virtually(t, func(s *scene) {
			_, other := s.candidate("other")
			s.lead(other)
			_, e := s.candidate("a", zklock.WithMaxQueue(1))
			refused(s, e, zklock.ErrQueueFull)
		})
	})

	t.Run("ClosedWhileItWaits", func(t *testing.T) {
		everywhere(t, func(s *scene) {
			_, other := s.candidate("other")
			s.lead(other)
			c, e := s.candidate("a")
			b := s.runs(s.Ctx, e)
			s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the candidate's node")
			require.NoError(s.T, c.Close(s.Ctx))
			require.ErrorIs(s.T, b.returns(s.Timeout/4), zkconn.ErrClosed)
			require.ErrorIs(s.T, s.runs(s.Ctx, e).returns(s.Timeout/4), zkconn.ErrClosed)
		})
	})

	t.Run("ClosedInThePauseAfterALoss", func(t *testing.T) {
		virtually(t, func(s *scene) {
			c, e := s.candidate("a")
			b := s.runs(s.Ctx, e)
			for range 5 { // the pauses grow
				r := b.begins(s.Timeout)
				require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
				s.lost(r.term, s.Timeout)
				r.answer <- nil
			}
			synctest.Wait() // it has returned
			require.NoError(s.T, c.Close(s.Ctx))
			began := time.Now()
			require.ErrorIs(s.T, b.returns(s.Timeout), zkconn.ErrClosed)
			require.Less(s.T, time.Since(began), time.Millisecond, "at once")
		})
	})
}

// An operator removes a waiting candidate's node. It queues up again: a candidate
// without a node waits for nothing.
func TestAnEvictedCandidateStandsAgain(t *testing.T) {
	everywhere(t, func(s *scene) {
		_, other := s.candidate("other")
		term := s.lead(other)
		_, e := s.candidate("a")
		b := s.runs(s.Ctx, e)
		s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 2 }, "the candidate's node")
		line, err := other.Queue(s.Ctx)
		require.NoError(s.T, err)
		require.NoError(s.T, s.Operator.Delete(s.Path+"/"+line[1].Node))
		s.Eventually(s.Timeout, func() bool {
			again, err := other.Queue(s.Ctx)
			return err == nil && len(again) == 2 && again[1].Node != line[1].Node
		}, "another node of it")
		require.NoError(s.T, term.Resign(s.Ctx))
		b.begins(s.Timeout).answer <- nil
		require.NoError(s.T, b.returns(s.Timeout))
	})
}

// Something deletes the leader's node as soon as it stands, again and again. The
// candidate neither gives up nor makes everybody else look a hundred times a
// second; and a term that lasted makes the next pause short again.
func TestCampaignsThatFailAtOnceAreSpaced(t *testing.T) {
	virtually(t, func(s *scene) {
		_, e := s.candidate("a")
		ctx, cancel := context.WithCancel(s.Ctx)
		b := s.runs(ctx, e)
		lose := func() time.Duration {
			r := b.begins(s.Timeout)
			require.NoError(s.T, s.Operator.Delete(s.Path+"/"+s.Nodes()[0]))
			s.lost(r.term, s.Timeout)
			r.answer <- nil
			began := time.Now()
			s.Eventually(s.Timeout, func() bool { return len(s.Nodes()) == 1 }, "it stands again")
			return time.Since(began)
		}
		var pauses []time.Duration
		for range 8 {
			pauses = append(pauses, lose())
		}
		shortest := s.Timeout / 64
		require.Less(s.T, pauses[0], 2*shortest)
		require.GreaterOrEqual(s.T, pauses[0], shortest/2)
		for _, p := range pauses[5:] {
			require.GreaterOrEqual(s.T, p, 8*shortest, "%v", pauses)
			require.Less(s.T, p, s.Timeout/2, "%v", pauses)
		}
		different := map[time.Duration]bool{}
		for _, p := range pauses[4:] {
			different[p] = true
		}
		require.Greater(s.T, len(different), 1, "jittered: %v", pauses)
		s.Pass(2 * s.Timeout) // a term that lasts
		require.Less(s.T, lose(), 2*shortest)
		r := b.begins(s.Timeout)
		cancel()
		r.answer <- nil
		require.ErrorIs(s.T, b.returns(s.Timeout), context.Canceled)
	})
}
