package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// waiters has n calls to Lock for each client, which come in any order, and
// returns when all of them do nothing but wait.
func (s *scene) waiters(clients []*zkconn.Client, n int) (stop func()) {
	s.T.Helper()
	before := len(s.Nodes())
	ctx, cancel := context.WithCancel(s.Ctx)
	var wg sync.WaitGroup
	var waiting atomic.Int32
	hooks := &zklock.Trace{Waiting: func(zklock.Attempt, string, int) { waiting.Add(1) }}
	for _, c := range clients {
		m := s.mutex(c, zklock.WithTrace(hooks))
		for range n {
			wg.Go(func() {
				if _, err := m.Lock(ctx); !errors.Is(err, context.Canceled) {
					s.T.Errorf("a waiter: %v", err)
				}
			})
		}
	}
	s.Eventually(time.Minute, func() bool { return int(waiting.Load()) == n*len(clients) }, "all wait")
	return func() {
		cancel()
		wg.Wait()
		s.Eventually(time.Minute, func() bool { return len(s.Nodes()) == before }, "all have left")
	}
}

// Every waiter that polled, or proved its session, was load on the leader: ten
// thousand of them waited for one long job and there was no capacity left to
// commit the job's own writes.
func TestAnIdleWaiterCostsTheServerNothingButPings(t *testing.T) {
	virtually(t, func(s *scene) {
		const each = 50
		h := s.lock(s.mutex(s.Dial("holder")), s.Timeout)
		alone := s.Dial("alone") // waits for nothing
		stop := s.waiters([]*zkconn.Client{s.Dial("a"), s.Dial("b")}, each)
		s.Pass(time.Second)
		counted := s.Operator.(*zktest.Server)
		watches := counted.Watches()
		all := counted.Requests()
		since := all[len(all)-1].N
		counted.ResetCounts()
		s.Pass(10 * time.Minute)

		pings := s.Of(alone).Count(zktest.OpPing)
		require.Greater(s.T, pings, 10*60/3, "the session is kept alive by its third")
		for _, host := range []string{"a", "b"} {
			require.InDelta(s.T, pings, s.From(host).Count(zktest.OpPing), 1, "as many as without waiters")
			for _, r := range s.From(host).Requests() {
				require.True(s.T, r.N <= since || r.Op == zktest.OpPing, "%v", r)
			}
		}
		require.Equal(s.T, watches, counted.Watches())
		require.NoError(s.T, h.Context().Err())
		stop()
		require.NoError(s.T, h.Unlock(s.Ctx))
	})
}

// After a reconnect everybody has to look again. When each did so by itself, a
// thousand waiters asked for a thousand lists of a thousand names at once.
func TestTwoHundredWaitersShareOneListAfterAReconnect(t *testing.T) {
	virtually(t, func(s *scene) {
		const waiters = 200
		h := s.lock(s.mutex(s.Dial("holder")), s.Timeout)
		b := s.Dial("b")
		stop := s.waiters([]*zkconn.Client{b}, waiters)
		s.Pass(time.Second)
		server, of := s.Operator.(*zktest.Server), s.Of(b)
		for range 3 {
			server.ResetCounts()
			of.Cut()
			s.Pass(s.Timeout / 2)
			require.Equal(s.T, 1, of.Count(zktest.OpGetChildren2), of.Trace(30))
			require.Zero(s.T, of.Count(zktest.OpMulti), "nobody proves who is not first")
			require.Equal(s.T, waiters+1, of.Count(zktest.OpGetData), "each node of ours, and the holder's, once")
			require.Zero(s.T, of.Count(zktest.OpCreate))
		}
		require.Len(s.T, s.Nodes(), 1+waiters)
		stop()
		require.NoError(s.T, h.Unlock(s.Ctx))
	})
}

// One job runs for hours, and everybody who wants its lock tries for a moment,
// gives up and comes again. Each try left a watch behind that nobody could take
// back, in the client and on the server.
func TestTenThousandTimedOutAttemptsLeaveNothingBehind(t *testing.T) {
	virtually(t, func(s *scene) {
		const atOnce = 20
		rounds := 10000 / atOnce
		if stage.Raced {
			rounds /= 5 // what it could find, it finds in two thousand
		}
		h := s.lock(s.mutex(s.Dial("holder")), s.Timeout)
		c := s.Dial("b")
		m := s.mutex(c)
		server := s.Operator.(*zktest.Server)
		random := rand.New(rand.NewPCG(1, 2))

		type left struct {
			heap                   uint64
			goroutines, conn, here int
		}
		look := func() left {
			s.Pass(time.Second)
			synctest.Wait()
			require.Len(s.T, s.Nodes(), 1)
			return left{inUse().HeapAlloc, runtime.NumGoroutine(), watchTable(s, c), server.Watches()}
		}
		var first left
		for round := range rounds {
			var wg sync.WaitGroup
			for range atOnce {
				// Before the create is answered, before the predecessor is watched,
				// while waiting: all of it happens.
				within := time.Duration(random.Int64N(int64(10 * time.Millisecond)))
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(s.Ctx, within)
					defer cancel()
					if _, err := m.Lock(ctx); !errors.Is(err, context.DeadlineExceeded) {
						s.T.Errorf("%v", err)
					}
				})
			}
			wg.Wait()
			if round == 1000/atOnce { // the server remembers its last requests, by then as many as ever
				first = look()
			}
		}
		last := look()
		require.Equal(s.T, first.goroutines, last.goroutines)
		require.LessOrEqual(s.T, last.conn, 1, "watches of the zk.Conn: the holder's node")
		require.LessOrEqual(s.T, last.here, 2, "watches of the server: the holder's node, by two")
		require.Less(s.T, last.heap, first.heap+256<<10, "all the others later")
		require.NoError(s.T, h.Context().Err())
		require.NoError(s.T, h.Unlock(s.Ctx))
	})
}

// watchTable is how many watches the zk.Conn of c's session remembers, each of
// which it would ask for again after a reconnect. It has no other way to tell.
func watchTable(s *scene, c *zkconn.Client) int {
	s.T.Helper()
	session, err := c.Session(s.Ctx)
	require.NoError(s.T, err)
	n, err := zkconn.Call(s.Ctx, session, func(conn *zk.Conn) (int, error) {
		table := reflect.ValueOf(conn).Elem().FieldByName("watchers")
		n := 0
		for at := table.MapRange(); at.Next(); {
			n += at.Value().Len()
		}
		return n, nil
	})
	require.NoError(s.T, err)
	return n
}

// inUse is what memory is still in use for.
func inUse() (m runtime.MemStats) {
	for range 3 { // stacks shrink by half at a time
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return m
}

// serverProgram is an in-memory server in a process of its own.
func serverProgram(t *testing.T) {
	server := zktest.New(t)
	stage.Say("%s", server.Addr())
	<-stage.Orphaned(t.Context()).Done()
}

// The server runs in a process of its own: what is measured here, stacks
// included, is the client's side alone. Each waiter is counted with the goroutine
// that called Lock.
func TestAWaiterCostsLessThan16KiB(t *testing.T) {
	const clients, each, most = 4, 500, 16 << 10
	if stage.Raced {
		t.Skip("SKIPPED: the race detector's own memory would be counted")
	}
	server := programs.Start(t, "server").Line(10 * time.Second)
	s := &scene{&stage.Scene{T: t, Ctx: t.Context(), Path: "/locks/report", Timeout: 30 * time.Second, Servers: []string{server}}}
	hand := stage.NewOperator(t, server)
	s.Operator = hand
	h := s.lock(s.mutex(s.Dial("holder")), s.Timeout)
	var cs []*zkconn.Client
	for i := range clients {
		cs = append(cs, s.Dial(fmt.Sprint("c", i)))
	}
	before := inUse()
	stop := s.waiters(cs, each)
	s.Pass(time.Second) // what has queued them up winds down
	after := inUse()
	heap := (int64(after.HeapAlloc) - int64(before.HeapAlloc)) / (clients * each)
	stacks := (int64(after.StackInuse) - int64(before.StackInuse)) / (clients * each)
	t.Logf("a waiter costs %d bytes of heap and %d of stacks", heap, stacks)
	require.Less(t, heap+stacks, int64(most))
	stop()
	require.NoError(t, h.Unlock(s.Ctx))
}
