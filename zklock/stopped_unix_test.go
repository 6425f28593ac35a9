//go:build unix

package zklock_test

import (
	"context"
	"encoding/json"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// asks has a program look; one that is stopped does so first thing when it goes on.
func asks(p *stage.Process) { p.Tell("look") }

func saw(t *testing.T, p *stage.Process) (l look) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(p.Line(10*time.Second)), &l))
	return l
}

// A process is stopped and goes on. The first thing that it asks, before any
// goroutine of ours can be relied on to have run, is told the truth: after nine
// tenths of a session timeout that it has lost by its own clock, though the
// ensemble may not have given the lock away; after two, that somebody else holds.
// What it sends all the same is refused.
func TestAProcessThatWasStoppedReadsTheTruthWhenItGoesOn(t *testing.T) {
	t.Parallel() // it waits for a stopped process, in real time
	for claim, stop := range map[string]time.Duration{
		"ForNineTenthsOfATimeout": stopTimeout * 9 / 10,
		"ForTwoTimeouts":          2 * stopTimeout,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			server := zktest.New(t)
			resource := stage.NewLedger()
			a := programs.Start(t, "stopped", stoppedAt+"="+server.Addr())
			asks(a)
			held := saw(t, a)
			require.Equal(t, zklock.Held, held.State)
			require.Empty(t, held.Ready)
			require.NoError(t, resource.Write(ctx, held.Stamp))

			c := stopClient(ctx, t, server.Addr())
			m, err := zklock.New(c, path)
			require.NoError(t, err)
			proven := make(chan struct{})
			server.AtReply(zktest.OpMulti, func(zktest.Request) { close(proven) })
			won := make(chan *zklock.Hold, 1)
			go func() {
				h, err := m.Lock(ctx)
				if err != nil {
					t.Errorf("the waiter: %v", err)
				}
				won <- h
			}()
			<-proven
			<-time.After(stopTimeout / 16) // its trust is no longer at its fullest

			a.Signal(syscall.SIGSTOP)
			<-time.After(stop)
			asks(a)
			var h *zklock.Hold
			if stop > stopTimeout {
				h = <-won
				require.NotNil(t, h)
				require.NoError(t, resource.Write(ctx, h.Next()))
			}
			a.Signal(syscall.SIGCONT)
			l := saw(t, a)
			require.Contains(t, []zklock.State{zklock.Lost, zklock.Idle}, l.State)
			require.LessOrEqual(t, l.Left, time.Duration(0))
			require.Contains(t, l.Ready, "lost")

			if h == nil {
				// Its goodbye hands over, on this connection or on one made for it, which a
				// server that answers takes at the first try: each has a sixth of the
				// timeout. What takes a whole timeout more is a session that nobody has
				// ended: one whose claim went before its monitor had looked at the clock
				// was kept by nobody then, and lived on.
				select {
				case h = <-won:
				case <-time.After(stopTimeout / 2):
					require.FailNow(t, "a session that its client believes lost keeps the lock")
				}
				require.NotNil(t, h)
				require.NoError(t, resource.Write(ctx, h.Next()))
			}
			require.Positive(t, h.Token().Compare(held.Stamp.Token))
			err = resource.Write(ctx, l.Stamp)
			require.ErrorIs(t, err, fencing.ErrStale)
			require.ErrorContains(t, err, held.Stamp.Token.String())
			require.ErrorContains(t, err, h.Token().String())
			require.NoError(t, resource.Broken())
			require.NoError(t, h.Unlock(ctx))
		})
	}
}
