package zktest_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// acknowledged is a write that a client was told of.
type acknowledged struct {
	path, data    string
	asked, closed time.Time
	zxid          int64
}

// writer creates nodes at any server until stop, after a pause each, and notes
// those that were acknowledged.
func (q *quorum) writer(name string, rng *rand.Rand, pause time.Duration, stop <-chan struct{}, note func(acknowledged)) {
	for i := 0; ; {
		s := q.srv[rng.IntN(len(q.srv))]
		nc, err := q.connect(s, name)
		if err != nil {
			continue
		}
		c := rawOver(q, nc)
		_, err = c.handshake(wire.ConnectRequest{TimeoutMs: 40_000})
		for err == nil && c.session != 0 {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(rng.Int64N(int64(pause)))):
			}
			i++
			a := acknowledged{data: fmt.Sprint(name, i), asked: time.Now()}
			var f frame
			// A write that hangs for long is given up, as clients do.
			err = c.nc.SetReadDeadline(time.Now().Add(5 * time.Second))
			require.NoError(q, err)
			xid := c.send(wire.OpCreate, create("/q/", a.data, 2, open...))
			payload, readErr := wire.ReadFrame(c.r, wire.MaxFrame)
			if err = readErr; err != nil {
				break
			}
			h, parseErr := wire.ParseReplyHeader(payload)
			require.NoError(q, parseErr)
			f = frame{h, payload[wire.ReplyHeaderLen:]}
			require.Equal(q, xid, f.Xid)
			if f.Err == wire.OK {
				a.path, a.closed, a.zxid = f.path(), time.Now(), f.Zxid
				note(a)
			}
		}
		_ = nc.Close()
		select {
		case <-stop:
			return
		case <-time.After(pause / 2):
		}
	}
}

// breakSomething does one thing that an ensemble must survive.
func (q *quorum) breakSomething(rng *rand.Rand) {
	s, o := q.srv[rng.IntN(len(q.srv))], q.srv[rng.IntN(len(q.srv))]
	switch rng.IntN(12) {
	case 0:
		q.ens.Isolate(s)
	case 1:
		q.ens.Depose()
	case 2:
		q.ens.Elect()
	case 3, 4:
		q.ens.Kill(s)
	case 5, 6:
		q.ens.Restart(s)
	case 7:
		q.ens.Lag(s, time.Duration(rng.IntN(3000))*time.Millisecond)
	case 8:
		if s != o {
			q.ens.CutOneWay(s, o)
		}
	case 9:
		s.Stall(true)
	case 10:
		s.Stall(false)
	case 11:
		q.ens.Heal()
	}
}

// Whatever happens: what was acknowledged is there at the end, on every server,
// in an order that agrees with when it was asked for and acknowledged.
func TestNothingAcknowledgedIsLost(t *testing.T) {
	const seeds = 20
	for seed := range uint64(seeds) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			inQuorum(t, func(q *quorum) {
				require.Greater(q, q.survive(seed, time.Second), 50)
			}, zktest.WithSeed(seed), zktest.WithTick(500*time.Millisecond))
		})
	}
}

// In virtual time hardly two things happen at once; here they do.
func TestNothingAcknowledgedIsLostOverTCP(t *testing.T) {
	ens := zktest.NewEnsemble(t, 3, zktest.WithTick(20*time.Millisecond), zktest.WithSessionTimeouts(time.Second, time.Minute),
		zktest.WithElectionTime(0, 20*time.Millisecond))
	q := &quorum{T: t, ens: ens, srv: ens.Servers()}
	q.survive(1, 40*time.Millisecond)
}

// survive breaks things while clients write, in units of time, and returns how
// many writes were acknowledged once all is checked.
func (q *quorum) survive(seed uint64, unit time.Duration) int {
	rng := rand.New(rand.NewPCG(seed, 1))
	require.NoError(q, q.srv[0].Create("/q", nil))
	var mu sync.Mutex
	var acks []acknowledged
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for i := range 3 {
		own := rand.New(rand.NewPCG(seed, uint64(i)+2))
		writers.Go(func() {
			q.writer(fmt.Sprintf("w%d-", i), own, unit/5, stop, func(a acknowledged) {
				mu.Lock()
				defer mu.Unlock()
				acks = append(acks, a)
			})
		})
	}
	for range 60 {
		q.breakSomething(rng)
		<-time.After(time.Duration(rng.Int64N(int64(3 * unit / 2))))
	}
	q.ens.Heal()
	for _, s := range q.srv {
		s.Stall(false)
		q.ens.Restart(s)
	}
	// Longer than any server can still believe in what is over.
	<-time.After(20 * unit)
	close(stop)
	writers.Wait()
	for _, s := range q.srv {
		// What an operator changes has been applied here when it returns. On a busy
		// machine a server over TCP can lose its leader at any time.
		err := s.Create("/end", nil)
		for errors.Is(err, zktest.ErrNotServing) {
			<-time.After(unit)
			err = s.Create("/end", nil)
		}
		require.NoError(q, err)
	}

	leader := q.leader()
	names := leader.Children("/q")
	for _, s := range q.srv {
		require.Equal(q, names, s.Children("/q"))
		require.Equal(q, leader.Sessions(), mended(leader, s.Sessions()))
	}
	q.sound(acks)
	return len(acks)
}

// sound checks that what was acknowledged is everywhere, and that of two writes
// the one that was asked for after the other had been acknowledged comes later.
func (q *quorum) sound(acks []acknowledged) {
	q.Helper()
	slices.SortFunc(acks, func(a, b acknowledged) int { return cmp.Compare(b.zxid, a.zxid) })
	later := time.Now() // when the first of those with a higher zxid was acknowledged
	for _, a := range acks {
		for i, s := range q.srv {
			if data, stat, err := s.Get(a.path); err != nil || string(data) != a.data || stat.Czxid != a.zxid {
				q.Fatalf("%+v at server %d: %v, %q, zxid %#x", a, i+1, err, data, stat.Czxid)
			}
		}
		if later.Before(a.asked) {
			q.Fatalf("%+v: one with a higher zxid had been acknowledged at %v", a, later)
		}
		if a.closed.Before(later) {
			later = a.closed
		}
	}
}

// mended gives sessions what only the leader knows, and each server for itself.
func mended(leader *zktest.Server, sessions []zktest.SessionInfo) []zktest.SessionInfo {
	known := map[int64]zktest.SessionInfo{}
	for _, s := range leader.Sessions() {
		known[s.ID] = s
	}
	for i, s := range sessions {
		sessions[i].Connected, sessions[i].Timeout = known[s.ID].Connected, known[s.ID].Timeout
	}
	return sessions
}
