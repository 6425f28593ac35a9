package zklock_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// crowd has n requests wait in the client of a session that cannot reach a
// server. Sixteen fill its queue; what comes later waits to be queued. The
// function that it returns waits until they all have returned.
func (s *scene) crowd(c *zkconn.Client, n int) (wait func()) {
	s.T.Helper()
	session, err := c.Session(s.Ctx)
	require.NoError(s.T, err)
	called := make(chan struct{}, n)
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			// Whatever becomes of it: it is there to be in the way.
			_, _ = zkconn.Call(s.Ctx, session, func(conn *zk.Conn) (bool, error) {
				called <- struct{}{}
				there, _, err := conn.Exists("/")
				return there, err
			})
		})
	}
	for range n {
		<-called
	}
	if !s.Real {
		synctest.Wait() // until each waits for the queue or in it
	}
	return all.Wait
}

// cutOff refuses a client's connections and returns once it has been refused.
func (s *scene) cutOff(of *zktest.Target) {
	s.T.Helper()
	refused := of.Count(zktest.OpCreateSession)
	of.Refuse(true)
	of.Cut()
	s.Eventually(s.Timeout, func() bool { return of.Count(zktest.OpCreateSession) > refused }, "the client comes back and is refused")
}

// Lock was called in an outage and its context ended there. The clean-up looked
// for a node as soon as the link was back, found none, and was done: then the
// client sent what it had queued, the create among it.
func TestACreateThatIsSentAfterItsCallerHasLeftLeavesNoOrphan(t *testing.T) {
	for _, queued := range []int{0, 16, 40} {
		for _, lost := range []bool{false, true} {
			claim := fmt.Sprintf("Behind%dRequests", queued)
			if lost {
				claim += "AndItsAnswerIsLost"
			}
			t.Run(claim, func(t *testing.T) {
				everywhere(t, func(s *scene) {
					require.NoError(s.T, s.Operator.Create(s.Path, nil))
					a, b, file := s.Dial("a"), s.Dial("b"), s.protects()
					session, of := s.Session(a), s.Of(a)
					m := s.mutex(a)
					s.cutOff(of)
					wait := s.crowd(a, queued)

					ctx, cancel := context.WithTimeout(s.Ctx, 300*time.Millisecond)
					defer cancel()
					r := s.locking(ctx, m)
					s.Ended(r.done, s.slack(), "Lock has not returned")
					require.ErrorIs(s.T, r.err, context.DeadlineExceeded)
					s.Pass(s.Timeout / 8)
					require.Zero(s.T, of.Count(zktest.OpCreate), "it is still in the client")
					require.Empty(s.T, s.Nodes())

					if lost {
						of.DropReply(zktest.OpCreate, 1)
					}
					created := make(chan struct{})
					of.AtReply(zktest.OpCreate, func(zktest.Request) { close(created) })
					of.Refuse(false)
					s.Ended(created, 2*time.Second, "the create was never sent")
					s.Eventually(time.Second, func() bool { return len(s.Nodes()) == 0 }, "no orphan")
					wait()
					h := s.lock(s.mutex(b), time.Second)
					file.admits(h)
					require.Equal(s.T, session, s.Session(a), "the node did not go with its session")
					require.Equal(s.T, 1, of.Count(zktest.OpCreate))

					next := s.locking(s.Ctx, m)
					require.NoError(s.T, h.Unlock(s.Ctx))
					file.admits(s.granted(next, 2*time.Second))
				})
			})
		}
	}
}

// lookedAt is a context that ends when it is asked for its channel for the
// n-th time: between any two steps of the one who asks.
type lookedAt struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int32
}

func (c *lookedAt) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Done()
}

// The caller leaves right after its create was begun, on a goroutine that has not
// run yet. The clean-up is faster: it asks for a node before the create has even
// been queued.
func TestACreateThatHasOnlyBeenBegunLeavesNoOrphan(t *testing.T) {
	// On one processor what was begun last runs first.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	virtually(t, func(s *scene) {
		require.NoError(s.T, s.Operator.Create(s.Path, nil))
		a := s.Dial("a")
		m, of := s.mutex(a), s.Of(a)
		unseen := 0
		for n := range int32(10) {
			for range 20 {
				inner, cancel := context.WithCancel(s.Ctx)
				ctx := &lookedAt{Context: inner, cancel: cancel}
				ctx.left.Store(n + 1)
				before := of.Count(zktest.OpCreate)
				h, err := m.Lock(ctx)
				if err != nil && of.Count(zktest.OpCreate) == before {
					unseen++
				}
				cancel()
				if err == nil {
					require.NoError(s.T, h.Unlock(s.Ctx))
				} else {
					require.ErrorIs(s.T, err, context.Canceled)
				}
				s.Pass(100 * time.Millisecond)
				synctest.Wait() // nothing is on its way any more
				require.Empty(s.T, s.Nodes(), "its end was noticed at look %d", n+1)
			}
		}
		require.Positive(s.T, unseen, "no caller left before its create was sent")
	})
}

// Many callers at once: the requests in front of one caller's create are the
// others' creates.
func TestManyCreatesThatAreSentAfterTheirCallersHaveLeftLeaveNoOrphan(t *testing.T) {
	const callers = 40
	everywhere(t, func(s *scene) {
		require.NoError(s.T, s.Operator.Create(s.Path, nil))
		a, b := s.Dial("a"), s.Dial("b")
		session, of := s.Session(a), s.Of(a)
		s.cutOff(of)
		errs := make(chan error, callers)
		for i := range callers {
			m := s.mutex(a)
			ctx, cancel := context.WithTimeout(s.Ctx, 300*time.Millisecond+time.Duration(i)*time.Millisecond)
			defer cancel()
			go func() { // its end is received below
				_, err := m.Lock(ctx)
				errs <- err
			}()
		}
		for range callers {
			require.ErrorIs(s.T, <-errs, context.DeadlineExceeded)
		}
		require.Zero(s.T, of.Count(zktest.OpCreate))
		var answered atomic.Int32
		half := make(chan struct{})
		of.OnReply(func(r zktest.Request) {
			if r.Op == zktest.OpCreate && answered.Add(1) == callers/2 {
				of.Cut() // what became of the others is not known
				close(half)
			}
		})
		of.Refuse(false)
		s.Ended(half, 2*time.Second, "the creates were never sent")
		h := s.lock(s.mutex(b), 2*time.Second)
		s.Eventually(2*time.Second, func() bool { return len(s.Nodes()) == 1 }, "no orphan")
		require.NoError(s.T, h.Context().Err())
		require.Equal(s.T, session, s.Session(a), "the nodes did not go with their session")
	})
}

// The session ended before the link came back. What was queued on it was sent on
// the next one, where nobody looked for it.
func TestACreateQueuedOnADeadSessionIsNeverSent(t *testing.T) {
	for _, queued := range []int{0, 40} {
		t.Run(fmt.Sprintf("Behind%dRequests", queued), func(t *testing.T) {
			everywhere(t, func(s *scene) {
				require.NoError(s.T, s.Operator.Create(s.Path, nil))
				a, b := s.Dial("a"), s.Dial("b")
				session, of := s.Session(a), s.Of(a)
				s.cutOff(of)
				wait := s.crowd(a, queued)
				ctx, cancel := context.WithTimeout(s.Ctx, 300*time.Millisecond)
				defer cancel()
				r := s.locking(ctx, s.mutex(a))
				s.Ended(r.done, s.slack(), "Lock has not returned")
				require.ErrorIs(s.T, r.err, context.DeadlineExceeded)

				require.NoError(s.T, s.Expire(session))
				of.Refuse(false)
				s.Eventually(2*time.Second, func() bool { return s.Session(a) != session }, "a new session")
				wait()
				s.crowd(a, 1)() // behind all that waits to be sent
				require.Zero(s.T, s.Count(zktest.OpCreate), "on any session")
				h := s.lock(s.mutex(b), time.Second)
				require.Len(s.T, s.Nodes(), 1)
				require.Equal(s.T, s.Count(zktest.OpCreate), s.Of(b).Count(zktest.OpCreate))
				require.NoError(s.T, h.Context().Err())
			})
		})
	}
}
