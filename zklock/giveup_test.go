package zklock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// slack is how late "at once" may be: nothing where time is virtual but the
// round trips, on a real machine a scheduler with much to do.
func (s *scene) slack() time.Duration {
	if s.Real {
		return time.Second
	}
	return 10 * time.Millisecond
}

// enrolling is locking where other nodes come and go meanwhile: it returns once
// the server has answered the create of this very client.
func (s *scene) enrolling(ctx context.Context, c *zkconn.Client, m *zklock.Mutex) *result {
	s.T.Helper()
	created := make(chan struct{})
	s.Of(c).AtReply(zktest.OpCreate, func(zktest.Request) { close(created) })
	r := &result{done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.hold, r.err = m.Lock(ctx)
		r.at = time.Now()
	}()
	s.Ended(created, s.Timeout, "nothing was created")
	return r
}

// Lock timed out, and the delete of its node was sent on the context that had
// just ended. Each such attempt left a node that nobody owned in front of those
// who came later.
func TestALockThatTimesOutIsPromptAndLeavesNoNode(t *testing.T) {
	for _, c := range []struct {
		claim  string
		freeze func(of *zktest.Target) // nil: nothing is wrong
		unseen bool                    // its create has not reached the server
	}{
		{claim: "OnAHealthyServer"},
		{claim: "FrozenBeforeTheCreate", unseen: true, freeze: func(of *zktest.Target) {
			of.At(zktest.OpCreate, func(zktest.Request) { of.Freeze(zktest.ToServer) })
		}},
		{claim: "FrozenBeforeItsAnswer", freeze: func(of *zktest.Target) {
			of.AtReply(zktest.OpCreate, func(zktest.Request) { of.Freeze(zktest.ToClient) })
		}},
		{claim: "FrozenBeforeItIsSeenInTheList", freeze: func(of *zktest.Target) {
			of.At(zktest.OpGetChildren2, func(zktest.Request) { of.Freeze(zktest.BothWays) })
		}},
		{claim: "FrozenAtTheDelete", freeze: func(of *zktest.Target) {
			of.At(zktest.OpDelete, func(zktest.Request) { of.Freeze(zktest.ToServer) })
		}},
		{claim: "FrozenAtTheDeletesAnswer", freeze: func(of *zktest.Target) {
			of.AtReply(zktest.OpDelete, func(zktest.Request) { of.Freeze(zktest.ToClient) })
		}},
	} {
		t.Run(c.claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b, d, file := s.Dial("a"), s.Dial("b"), s.Dial("d"), s.protects()
				h := s.lock(s.mutex(a), s.Timeout)
				session, of := s.Session(b), s.Of(b)
				created := make(chan struct{})
				of.AtReply(zktest.OpCreate, func(zktest.Request) { close(created) })
				if c.freeze != nil {
					c.freeze(of)
				}

				begun := time.Now()
				ctx, cancel := context.WithTimeout(s.Ctx, 300*time.Millisecond)
				defer cancel()
				r := s.locking(ctx, s.mutex(b))
				s.Ended(r.done, 300*time.Millisecond+s.slack(), "Lock has not returned")
				require.ErrorIs(s.T, r.err, context.DeadlineExceeded)
				require.ErrorContains(s.T, r.err, s.Path)
				require.Less(s.T, r.at.Sub(begun), 300*time.Millisecond+s.slack())

				patient := s.enrolling(s.Ctx, d, s.mutex(d))
				if c.freeze != nil {
					s.Pass(s.Timeout / 8)
					of.Unfreeze()
				}
				if c.unseen {
					s.Ended(created, time.Second, "the create has not been sent after all")
				}
				s.Eventually(time.Second, func() bool { return len(s.Nodes()) == 2 }, "none but the holder and who waits")
				require.Equal(s.T, session, s.Session(b), "the node did not go with its session")
				require.False(s.T, patient.returned())
				file.admits(h)
				require.NoError(s.T, h.Unlock(s.Ctx))
				file.admits(s.granted(patient, 2*time.Second))
				file.refuses(h)
				require.Len(s.T, s.Nodes(), 1)
			})
		})
	}
}

// Two hundred callers with deadlines of their own, on links that break now and
// then: some end before their create is sent, some before it is answered, some
// while they wait.
func TestOfTwoHundredThatTimeOutOnlyTheLivingRemain(t *testing.T) {
	const waiters = 200
	everywhere(t, func(s *scene) {
		file := s.protects()
		h := s.lock(s.mutex(s.Dial("holder")), s.Timeout)
		patient := s.locking(s.Ctx, s.mutex(s.Dial("patient")))
		var clients [4]*zkconn.Client
		var links [4]*zktest.Target
		for i := range clients {
			clients[i] = s.Dial(string(rune('a' + i)))
			links[i] = s.Of(clients[i])
		}

		type end struct {
			hold *zklock.Hold
			err  error
			late time.Duration // after its own deadline
		}
		ends := make(chan end, waiters)
		rng := rand.New(rand.NewPCG(1, 200))
		for i := range waiters {
			wait := time.Duration(rng.Int64N(int64(20 * time.Millisecond)))
			if i%2 == 0 {
				wait = time.Duration(rng.Int64N(int64(time.Second)))
			}
			m := s.mutex(clients[i%len(clients)])
			go func() { // its end is received below
				ctx, cancel := context.WithTimeout(s.Ctx, wait)
				defer cancel()
				deadline, _ := ctx.Deadline()
				h, err := m.Lock(ctx)
				ends <- end{h, err, time.Since(deadline)}
			}()
		}
		for i := range 8 {
			s.Pass(100 * time.Millisecond)
			links[i%len(links)].Cut()
			file.admits(h)
		}
		for range waiters {
			e := <-ends
			require.ErrorIs(s.T, e.err, context.DeadlineExceeded)
			require.Nil(s.T, e.hold)
			require.Less(s.T, e.late, s.slack())
		}
		s.Eventually(2*time.Second, func() bool { return len(s.Nodes()) == 2 }, "none but the holder and who waits")
		require.False(s.T, patient.returned())
		require.NoError(s.T, h.Unlock(s.Ctx))
		file.admits(s.granted(patient, 2*time.Second))
		require.Len(s.T, s.Nodes(), 1)
	})
}
