package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

func TestACreateWhoseFateIsUnknown(t *testing.T) {
	// The reply was lost, then the read that should have found the node failed as
	// well: the node stayed and blocked everybody.
	t.Run("IsAdoptedHoweverOftenTheSearchFails", func(t *testing.T) {
		for _, failures := range []int{0, 1, 5} {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create(dir, nil))
				w.Server.DropReply(zktest.OpCreate, 1)
				w.Server.DropReply(zktest.OpMulti, failures)
				w.Server.DropReply(zktest.OpGetChildren2, failures)
				w.Server.DropReply(zktest.OpExists, failures)
				p := w.line.Join(w.s)
				require.NoError(t, p.Await(w.ctx, Events{}))
				w.alone(p)
				require.Equal(t, 1, w.Server.Count(zktest.OpCreate), "it was there: a second create would have been a second contender")
				<-p.Leave().Done()
				require.Empty(t, w.Server.Children(dir))
			})
		}
	})

	t.Run("IsMadeAgainUnderTheSameGUIDIfItNeverArrived", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			w.Server.DropRequest(zktest.OpCreate, 2)
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			w.alone(p)
			for _, r := range w.Server.Requests() {
				if r.Op == zktest.OpCreate {
					require.Equal(t, dir+"/"+prefix(p.guid), r.Path)
				}
			}
		})
	})

	t.Run("IsSearchedByProofThenListOneAfterTheOther", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			w.Server.DropReply(zktest.OpCreate, 1)
			p := w.line.Join(w.s)
			require.NoError(t, p.enrol(w.ctx))
			var proven time.Duration
			for _, r := range w.Server.Requests() {
				switch r.Op {
				case zktest.OpMulti:
					require.Equal(t, dir, r.Path)
					proven = r.At
				case zktest.OpGetChildren2:
					require.NotZero(t, proven)
					require.Greater(t, r.At, proven)
				}
			}
		})
	})

	t.Run("LeavesNothingIfItsCallerGivesUpDuringTheSearch", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			ctx, cancel := context.WithCancel(w.ctx)
			w.Server.DropReply(zktest.OpCreate, 1)
			w.Server.AtReply(zktest.OpCreate, func(zktest.Request) { w.Server.Refuse(true) })
			time.AfterFunc(time.Second, cancel)
			p := w.line.Join(w.s)
			require.ErrorIs(t, p.Await(ctx, Events{}), context.Canceled)
			d := p.Leave()
			require.Len(t, w.Server.Children(dir), 1)
			w.Server.Refuse(false)
			<-d.Done()
			require.True(t, d.Proven())
			require.Empty(t, w.Server.Children(dir))
			require.NoError(t, w.s.Err())
		})
	})

	// The requests waited in the client library's queue while it was disconnected;
	// the clean-up looked, found nothing and went; the link came back and they were
	// sent.
	t.Run("LeavesNothingIfItIsSentLongAfterItsCallerGaveUp", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			w.Server.Freeze(zktest.BothWays)
			type left struct {
				d   *Departure
				err error
			}
			gone := make(chan left)
			for range 20 {
				go func() {
					ctx, cancel := context.WithTimeout(w.ctx, 300*time.Millisecond)
					defer cancel()
					p := w.line.Join(w.s)
					err := p.Await(ctx, Events{})
					gone <- left{p.Leave(), err}
				}()
			}
			time.Sleep(time.Second)
			require.Empty(t, gone, "nobody can say yet what is to be deleted")
			w.Server.Unfreeze()
			for range 20 {
				l := <-gone
				require.ErrorIs(t, l.err, context.DeadlineExceeded)
				<-l.d.Done()
				require.True(t, l.d.Proven())
			}
			require.Positive(t, w.Server.Count(zktest.OpCreate))
			w.settle()
			require.Empty(t, w.Server.Children(dir))
		})
	})

	t.Run("AmongSeveralMatchesTheOldestIsOursAndTheOthersGo", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			p := w.line.Join(w.s)
			first := w.plant(p.guid)
			w.plant(p.guid)
			w.plant(p.guid)
			p.unsettled = true
			require.NoError(t, p.Await(w.ctx, Events{}))
			require.Equal(t, first, p.Path())
			w.alone(p)
		})
	})

	t.Run("IsAdoptedPastTheEndOfTheSequenceWhereASecondCreateGetsItsName", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			require.NoError(t, w.Server.SetSequence(dir, 2147483647))
			p := w.line.Join(w.s)
			first := w.plant(p.guid) // as if it had come too late for the search
			require.NoError(t, p.Await(w.ctx, Events{}))
			require.Equal(t, first, p.Path())
			w.alone(p)
		})
	})

	t.Run("AnEarlierTwinIsADebtAndNobodyToWaitFor", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			p := w.line.Join(w.s)
			w.plant(p.guid)
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			require.NoError(t, p.Await(ctx, Events{}))
			w.alone(p)
		})
	})

	// Adopted by its GUID, it was a node that another session's end took away.
	t.Run("ANodeOfAnotherSessionIsNeverOurs", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			w.Server.Steal(1)
			p := w.line.Join(w.s)
			waiting := make(chan string, 1)
			await := make(chan error)
			go func() {
				await <- p.Await(w.ctx, Events{Waiting: func(predecessor string, ahead int) { waiting <- predecessor }})
			}()
			stolen := <-waiting
			require.True(t, carries(stolen, p.guid))
			require.NotEqual(t, stolen, p.node.Child)
			require.Len(t, w.Server.Children(dir), 2)
			require.NoError(t, w.Server.Delete(dir+"/"+stolen))
			require.NoError(t, <-await)
			w.alone(p)
			<-p.Leave().Done()
			require.Empty(t, w.Server.Children(dir))
		})
	})

	t.Run("ANodeThatChangesHandsUnderOurNameIsNotOurs", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			require.NoError(t, w.Server.Create(dir, nil))
			_, other := w.dial("b")
			p := w.line.Join(w.s)
			w.Server.AtReply(zktest.OpCreate, func(r zktest.Request) {
				name := w.Server.Children(dir)[0]
				_ = w.Server.Delete(dir + "/" + name)
				done := session.Start(other, func(c *zk.Conn) (string, error) {
					return c.Create(dir+"/"+name, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
				})
				<-done.Done()
			})
			ctx, cancel := context.WithTimeout(w.ctx, T)
			defer cancel()
			require.ErrorIs(t, p.Await(ctx, Events{}), context.DeadlineExceeded, "it is waited for")
			p.Leave()
			w.settle()
			children := w.Server.Children(dir)
			require.Len(t, children, 1)
			_, st, err := w.Server.Get(dir + "/" + children[0])
			require.NoError(t, err)
			require.Equal(t, other.ID(), st.EphemeralOwner, "and never deleted by us")
		})
	})
}

func TestTheDirectory(t *testing.T) {
	t.Run("IsMadeWhereItIsMissingAndGoesWhenNobodyUsesIt", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.line.Dir = "/a/b/c/d"
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			require.True(t, strings.HasPrefix(p.Path(), "/a/b/c/d/_c_"))
			<-p.Leave().Done()
			time.Sleep(10 * time.Minute)
			require.False(t, w.Server.Exists("/a"), "containers are reaped from below")
		})
	})

	t.Run("IsMadeAgainWhenItIsReaped", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			reaped := 0
			w.Server.OnRequest(func(r zktest.Request) {
				if r.Op == zktest.OpCreate && reaped < 3 {
					reaped++
					_ = w.Server.Delete("/locks")
				}
			})
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			w.alone(p)
			require.Equal(t, 3, reaped)
		})
	})

	t.Run("IsNotMadeForEver", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.Server.OnRequest(func(r zktest.Request) {
				if r.Op == zktest.OpCreate {
					_ = w.Server.Delete(dir)
				}
			})
			p := w.line.Join(w.s)
			require.ErrorIs(t, p.Await(w.ctx, Events{}), zk.ErrNoNode)
			<-p.Leave().Done()
		})
	})
}

func TestOnlyAMajoritySaysThatWeAreGone(t *testing.T) {
	t.Run("BeforeTheFirstLook", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.Server.AtReply(zktest.OpCreate, func(zktest.Request) { _ = w.Server.Delete(dir) })
			require.NoError(t, w.Server.Create(dir, nil))
			p := w.line.Join(w.s)
			require.ErrorIs(t, p.Await(w.ctx, Events{}), ErrGone)
			require.Equal(t, 1, w.Server.Count(zktest.OpMulti))
			<-p.Leave().Done()
		})
	})

	// A list that does not show our node is older than it, or newer than its end:
	// in neither case does it say that nobody is ahead.
	t.Run("AListWithoutUsGrantsNothing", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			at, err := p.judge(w.ctx, []string{p.node.Child}, Events{})
			require.NoError(t, err)
			require.Zero(t, at.ahead)
			for _, list := range [][]string{nil, {"config"}, {"x-lock-2000000000"}} {
				_, err = p.judge(w.ctx, list, Events{})
				require.ErrorIs(t, err, errUnseen, "the list is older than our node")
			}
			require.NoError(t, w.Server.Delete(p.Path()))
			_, err = p.judge(w.ctx, nil, Events{})
			require.ErrorIs(t, err, ErrGone)
		})
	})

	t.Run("WhileItIsHeld", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			guard := make(chan error, 1)
			go func() { guard <- p.Guard(w.ctx) }()
			for range 3 {
				w.Server.Cut()
				time.Sleep(time.Second)
				require.Empty(t, guard)
			}
			require.NoError(t, w.Server.Delete(p.Path()))
			require.ErrorIs(t, <-guard, ErrGone)
		})
	})

	t.Run("AChangeOfItsDataIsNoDeletion", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			p := w.line.Join(w.s)
			require.NoError(t, p.Await(w.ctx, Events{}))
			ctx, cancel := context.WithCancelCause(w.ctx)
			guard := make(chan error, 1)
			go func() { guard <- p.Guard(ctx) }()
			_, waiter := w.dial("b")
			behind := make(chan error, 1)
			q := w.line.Join(waiter)
			go func() { behind <- q.Await(w.ctx, Events{}) }()
			w.settle()
			w.Server.ResetCounts()
			for i := range 3 {
				_, err := session.Call(w.ctx, w.s, func(c *zk.Conn) (*zk.Stat, error) { return c.Set(p.Path(), []byte(fmt.Sprint(i)), -1) })
				require.NoError(t, err)
				w.settle()
			}
			require.Empty(t, guard)
			require.Empty(t, behind)
			require.Equal(t, 6, w.Server.Count(zktest.OpGetData), "each change costs either of them one read")
			require.Equal(t, 6+3, w.Server.Count(zktest.AnyOp))
			enough := errors.New("enough")
			cancel(enough)
			require.Equal(t, enough, <-guard)
			<-p.Leave().Done()
			require.NoError(t, <-behind)
		})
	})
}

func TestTheSessionsEndEndsEverything(t *testing.T) {
	for claim, ready := range map[string]func(w *world){
		"WhileEnrolling": func(w *world) { w.Server.Freeze(zktest.BothWays) },
		"WhileWaiting":   func(w *world) { _ = w.Server.Create(dir+"/x-lock-0000000000", nil) },
	} {
		t.Run(claim, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create(dir, nil))
				ready(w)
				p := w.line.Join(w.s)
				await := make(chan error)
				go func() { await <- p.Await(w.ctx, Events{}) }()
				time.Sleep(time.Second)
				w.Server.Refuse(true)
				w.Server.Cut()
				require.ErrorIs(t, <-await, session.ErrLost)
				d := p.Leave()
				<-d.Done()
				require.False(t, d.Proven())
			})
		})
	}
}

func TestBothCountersOfSequenceNumbers(t *testing.T) {
	for claim, opts := range map[string][]zktest.Option{"Sticking": nil, "Wrapping": {zktest.WithLegacySequence()}} {
		t.Run(claim, func(t *testing.T) {
			run(t, func(t *testing.T, w *world) {
				require.NoError(t, w.Server.Create(dir, nil))
				require.NoError(t, w.Server.SetSequence(dir, 2147483645))
				var places []*Place
				var awaits []chan error
				for i := range 6 {
					_, s := w.dial(fmt.Sprint("c", i))
					p, await := w.line.Join(s), make(chan error, 1)
					go func() { await <- p.Await(w.ctx, Events{}) }()
					places, awaits = append(places, p), append(awaits, await)
					w.settle()
				}
				last := int64(0)
				for i, p := range places {
					require.NoError(t, <-awaits[i])
					require.Greater(t, p.Czxid(), last)
					last = p.Czxid()
					w.settle()
					for _, later := range awaits[i+1:] {
						require.Empty(t, later, "two at once")
					}
					<-p.Leave().Done()
				}
			}, bubble.WithServer(opts...))
		})
	}
}

func TestOldServersAreRecognised(t *testing.T) {
	require.True(t, unimplemented(errors.New("unknown error: -6")))
	require.False(t, unimplemented(nil))
	require.False(t, unimplemented(zk.ErrNoNode))
}
