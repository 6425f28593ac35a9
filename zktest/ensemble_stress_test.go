package zktest_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// Everybody does everything to one ensemble at once, and it is closed in the
// middle of that: no call may hang, nothing may be left, and the race detector
// has nothing to say.
func TestEnsembleOfMany(t *testing.T) {
	const lasts = 600 * time.Millisecond
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			ens, err := zktest.StartEnsemble(n, zktest.WithTick(5*time.Millisecond), zktest.WithSessionTimeouts(20*time.Millisecond, time.Second),
				zktest.WithElectionTime(time.Millisecond, 5*time.Millisecond), zktest.WithContainerInterval(5*time.Millisecond))
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), lasts)
			defer cancel()
			var all sync.WaitGroup
			for seed := range uint64(4) {
				rng := rand.New(rand.NewPCG(seed, 1))
				s := func() *zktest.Server { return ens.Servers()[rng.IntN(n)] }
				do := []func(){
					func() { ens.Isolate(s()) }, func() { ens.CutOneWay(s(), s()) }, func() { ens.Depose() }, ens.Elect, ens.Heal, ens.Heal,
					func() { ens.Lag(s(), time.Duration(rng.IntN(20))*time.Millisecond) }, func() { ens.Kill(s()) },
					func() { ens.Restart(s()) }, func() { ens.Restart(s()) }, func() { s().Stall(true) },
					func() { s().Stall(false) }, func() { s().Stall(false) }, func() { s().ExpireAll() },
					func() { _ = s().Create("/a/b", nil) }, func() { _ = s().Delete("/a") }, func() { _ = s().SetSequence("/a", 5) },
					func() { s().ReapContainers() }, func() { s().Sessions() }, func() { s().Cut() }, func() { s().Steal(1) },
					func() { s().DropReply(zktest.OpCreate, 1) }, func() { s().HealAll() }, func() { ens.Leader() },
					func() {
						if rng.IntN(10) == 0 {
							s().Wipe()
						}
					},
				}
				all.Go(func() {
					for ctx.Err() == nil {
						do[rng.IntN(len(do))]()
						wait(ctx, time.Duration(rng.IntN(2000))*time.Microsecond)
					}
				})
				all.Go(func() {
					for ctx.Err() == nil {
						visitor(ctx, ens.Addrs()[rand.IntN(n)])
					}
				})
			}
			all.Go(func() {
				for {
					if _, err := ens.AwaitLeader(ctx); err != nil {
						return
					}
					wait(ctx, time.Millisecond)
				}
			})
			wait(ctx, lasts/2)
			for range 2 {
				all.Go(ens.Close)
			}
			all.Wait()
			_, err = ens.AwaitLeader(t.Context())
			require.ErrorIs(t, err, net.ErrClosed)
			require.ErrorIs(t, ens.Servers()[0].Create("/late", nil), zktest.ErrNotServing)
		})
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// visitor is a client that sends a handshake and creates in one flight, and
// takes what comes for a moment.
func visitor(ctx context.Context, addr string) {
	nc, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		wait(ctx, time.Millisecond)
		return
	}
	defer nc.Close()
	flight := wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: 50}.Append(nil))
	for i := range int32(20) {
		e := &wire.Encoder{Buf: wire.RequestHeader{Xid: i, Op: wire.OpCreate}.Append(nil)}
		create("/_c_n-", "", 3, open...)(e)
		flight = wire.AppendFrame(flight, e.Buf)
	}
	_, _ = nc.Write(flight) // whatever becomes of it
	_ = nc.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
	_, _ = nc.Read(make([]byte, 4096))
}
