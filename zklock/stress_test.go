package zklock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

const (
	stressSeed       = "ZKFENCE_SEED" // repeats what is done and when, not what meets what
	stressProcesses  = 5
	stressContenders = 8 // of each
	stressLocks      = 4
)

// In virtual time two things hardly ever happen at once. Here they do: forty
// contenders of five clients for four locks, each in its own way, over
// connections that break and sessions that end at any moment, under the race
// detector.
//
// With each write and with each word of a holder it is checked that accepted
// writes never go backwards and that nobody believes that he holds after a later
// owner does.
func TestEverythingAtOnce(t *testing.T) {
	overTCP(t, func(s *scene) {
		seed, length := rand.Uint64(), 7*time.Second
		if text := os.Getenv(stressSeed); text != "" {
			var err error
			seed, err = strconv.ParseUint(text, 10, 64)
			require.NoError(s.T, err, stressSeed)
		}
		if _, ours := s.Operator.(*zktest.Server); ours {
			length = 3 * time.Second // it answers faster
		}
		if testing.Short() {
			length = 2 * time.Second
		}
		s.T.Cleanup(func() {
			if s.T.Failed() {
				s.T.Logf("seed: %s=%d", stressSeed, seed)
			}
		})
		s.Timeout = time.Second
		require.Empty(s.T, s.Nodes()) // the operator is connected
		strangers := goleak.IgnoreCurrent()

		st := &stress{s: s, clients: make([]atomic.Pointer[zkconn.Client], stressProcesses)}
		for i := range stressLocks {
			st.locks = append(st.locks, &contested{s.below(strconv.Itoa(i)), stage.NewLedger(), newWitness()})
		}
		st.ctx, st.stop = context.WithTimeout(s.Ctx, length)
		defer st.stop()
		var wg sync.WaitGroup
		for i := range stressProcesses {
			wg.Go(func() { st.process(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
		}
		wg.Go(func() { st.harm(rand.New(rand.NewPCG(seed, stressProcesses))) })
		wg.Wait()

		holds := 0
		for _, l := range st.locks {
			require.NoError(s.T, l.broken())
			holds += l.witness.count()
			// A client that was closed while its link was broken leaves that to the server.
			s.Eventually(2*s.Timeout, func() bool { return len(l.Nodes()) == 0 }, "no node is left")
		}
		require.NoError(s.T, goleak.Find(strangers))
		s.T.Logf("%d holds, %d of them lost to one of %d faults or to themselves; %d writes, %d refused",
			holds, st.lost.Load(), st.faults.Load(), st.written.Load(), st.refused.Load())
		if !s.T.Failed() {
			require.Greater(s.T, holds, 4*int(length/time.Second), "else nothing was tried")
			require.Greater(s.T, st.faults.Load(), int64(length/time.Second), "else nothing went wrong")
		}
	})
}

// contested is one lock of the stress test.
type contested struct {
	*scene
	file    *stage.Ledger
	witness *witness
}

func (l *contested) broken() error { return errors.Join(l.file.Broken(), l.witness.broken()) }

type stress struct {
	s       *scene
	ctx     context.Context // ends with the time
	stop    context.CancelFunc
	locks   []*contested
	clients []atomic.Pointer[zkconn.Client] // of each process

	lost, faults, written, refused atomic.Int64
}

// fail ends the run at the first breach.
func (st *stress) fail(err error) {
	if err != nil {
		st.s.T.Error(err)
		st.stop()
	}
}

// wait lets d go by; false if that is over before.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func upTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}

// process is a client and its contenders, restarted now and then.
func (st *stress) process(i int, random *rand.Rand) {
	for st.ctx.Err() == nil {
		c, err := zkconn.Dial(st.ctx, st.s.Servers, zkconn.WithSessionTimeout(st.s.Timeout), zkconn.WithServerTick(200*time.Millisecond))
		if err != nil {
			if st.ctx.Err() == nil {
				st.fail(err)
			}
			return
		}
		st.clients[i].Store(c)
		var wg sync.WaitGroup
		for range stressContenders {
			seed := random.Uint64()
			wg.Go(func() { st.contend(c, rand.New(rand.NewPCG(seed, 0))) })
		}
		wait(st.ctx, time.Second+upTo(random, 4*time.Second))
		_ = c.Close(context.WithoutCancel(st.ctx)) // an error says that no server could be told
		wg.Wait()
	}
}

// contend acquires and holds in every way until the client is closed or the time
// is over.
func (st *stress) contend(c *zkconn.Client, random *rand.Rand) {
	var opts []zklock.Option
	switch random.IntN(8) {
	case 0:
		opts = append(opts, zklock.WithMaxHold(20*time.Millisecond))
	case 1:
		opts = append(opts, zklock.WithEagerLoss())
	}
	l := st.locks[random.IntN(len(st.locks))]
	m, err := zklock.New(c, l.Path, opts...)
	if err != nil {
		st.fail(err)
		return
	}
	for st.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(st.ctx, upTo(random, 2*st.s.Timeout))
		var h *zklock.Hold
		switch random.IntN(6) {
		case 0:
			h, err = m.TryLock(ctx)
		case 1:
			err = m.Do(ctx, func(ctx context.Context, h *zklock.Hold) error {
				st.hold(ctx, l, h, random)
				return nil
			})
		default:
			h, err = m.Lock(ctx)
		}
		if h != nil {
			st.hold(st.ctx, l, h, random)
			st.release(h, random)
		}
		cancel()
		switch {
		case err == nil:
		case errors.Is(err, zkconn.ErrClosed):
			return
		case errors.Is(err, zklock.ErrLost), errors.Is(err, zklock.ErrLocked), errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		default:
			st.fail(err)
		}
		wait(st.ctx, upTo(random, 10*time.Millisecond))
	}
}

// hold writes a few times and gives up, or is stubborn: it stays until it has
// lost, cut off from the server or not.
func (st *stress) hold(ctx context.Context, l *contested, h *zklock.Hold, random *rand.Rand) {
	b := l.witness.granted(h)
	if err := l.file.Raise(h.Token()); err != nil {
		st.refused.Add(1)
	}
	pause, until := time.Millisecond+upTo(random, 10*time.Millisecond), time.Now()
	if random.IntN(15) == 0 {
		until = until.Add(st.s.Timeout + upTo(random, st.s.Timeout))
		if random.IntN(3) > 0 {
			of := st.s.For(b.session)
			of.Freeze(zktest.BothWays)
			defer of.Heal()
		}
	}
	for n := random.IntN(4); l.witness.believes(h, b) && (n > 0 || time.Now().Before(until)); n-- {
		st.write(l, h)
		if !wait(ctx, pause) {
			break
		}
	}
	if l.witness.believes(h, b) {
		return
	}
	st.lost.Add(1)
	if h.Context().Err() == nil {
		st.fail(errors.New("no trusted time, and the context has not ended"))
	}
	// What a holder that does not listen does, before or after its successor.
	for range 3 {
		st.write(l, h)
		wait(ctx, pause)
	}
}

func (st *stress) write(l *contested, h *zklock.Hold) {
	if err := l.file.Write(st.s.Ctx, h.Next()); err != nil {
		st.refused.Add(1)
	} else {
		st.written.Add(1)
	}
	st.fail(l.broken())
}

// release gives h up: here or elsewhere, with patience or without.
func (st *stress) release(h *zklock.Hold, random *rand.Rand) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(st.ctx), upTo(random, st.s.Timeout))
	defer cancel()
	if random.IntN(2) == 0 {
		cancel()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = h.Unlock(ctx) // lost, or not proven in time
	}()
	<-done
	if h.Remaining() > 0 {
		st.fail(errors.New("trusted time is left after Unlock"))
	}
}

// harm does harm until the time is over.
func (st *stress) harm(random *rand.Rand) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for wait(st.ctx, upTo(random, 200*time.Millisecond)) {
		session, ok := st.someSession(random)
		if !ok {
			continue
		}
		st.faults.Add(1)
		of, d := st.s.For(session), upTo(random, st.s.Timeout*3/2)
		what := random.IntN(10)
		if what < 4 {
			of.Cut()
			continue
		}
		switch what {
		case 4, 5:
			for _, l := range st.locks {
				l.witness.ends(session)
			}
			if err := st.s.Expire(session); err != nil && !errors.Is(err, zktest.ErrNoSession) {
				st.fail(err)
			}
			continue
		case 6:
			of.DropReply([]zktest.Op{zktest.OpCreate, zktest.OpDelete, zktest.OpMulti, zktest.OpGetData}[random.IntN(4)], 1)
			continue
		case 7:
			of.Freeze(zktest.BothWays)
		case 8:
			of.Freeze([]zktest.Direction{zktest.ToServer, zktest.ToClient}[random.IntN(2)])
		case 9:
			of.Refuse(true)
			of.Cut()
		}
		wg.Go(func() {
			wait(st.ctx, d)
			of.Heal()
		})
	}
}

func (st *stress) someSession(random *rand.Rand) (int64, bool) {
	c := st.clients[random.IntN(len(st.clients))].Load()
	if c == nil {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(st.ctx, 10*time.Millisecond)
	defer cancel()
	session, err := c.Session(ctx)
	if err != nil {
		return 0, false
	}
	return session.ID(), true
}
