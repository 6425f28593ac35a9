//go:build unix

package zklock_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

const (
	stoppedHolderAt = "ZKLOCK_TEST_STOPPED_HOLDER_AT" // the server's address
	stopTimeout     = 2 * time.Second
)

// look is what a holder reads of its hold, in this order.
type look struct {
	State zklock.State
	Left  time.Duration
	Ready string // its error
	Stamp fencing.Stamp
}

// TestStoppedHolder is a holder in a process of its own, which looks at its hold
// for each line that it is sent.
func TestStoppedHolder(t *testing.T) {
	addr := os.Getenv(stoppedHolderAt)
	if addr == "" {
		t.Skip("run by TestAProcessThatWasStoppedReadsTheTruthWhenItGoesOn, as a process of its own")
	}
	c, err := zkconn.Dial(t.Context(), []string{addr}, zkconn.WithSessionTimeout(stopTimeout), zkconn.WithServerTick(100*time.Millisecond))
	require.NoError(t, err)
	m, err := zklock.New(c, path)
	require.NoError(t, err)
	h, err := m.Lock(t.Context())
	require.NoError(t, err)
	say := json.NewEncoder(os.Stdout)
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		l := look{State: h.State(), Left: h.Remaining(), Stamp: h.Next()}
		if err := h.Ready(t.Context(), 0); err != nil {
			l.Ready = err.Error()
		}
		require.NoError(t, say.Encode(l))
	}
	_ = h.Unlock(t.Context()) // lost, mostly
	require.NoError(t, c.Close(context.WithoutCancel(t.Context())))
}

// stoppable is a process of ours.
type stoppable struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *json.Decoder
}

func startHolder(ctx context.Context, t *testing.T, addr string) *stoppable {
	p := &stoppable{t: t, cmd: exec.CommandContext(ctx, os.Args[0], "-test.run=^TestStoppedHolder$")}
	p.cmd.Env = append(os.Environ(), stoppedHolderAt+"="+addr)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	require.NoError(t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.in, p.out = in, json.NewDecoder(out)
	require.NoError(t, p.cmd.Start())
	return p
}

func (p *stoppable) signal(s os.Signal) {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(s))
}

// ask has the process look; a stopped one does so as the first thing when it goes on.
func (p *stoppable) ask() {
	p.t.Helper()
	_, err := io.WriteString(p.in, "look\n")
	require.NoError(p.t, err)
}

func (p *stoppable) answer() (l look) {
	p.t.Helper()
	require.NoError(p.t, p.out.Decode(&l))
	return l
}

// A process is stopped and goes on. The first thing that it asks, before any
// goroutine of ours can be relied on to have run, is told the truth: after nine
// tenths of a session timeout that it has lost by its own clock, though the
// ensemble may not have given the lock away; after two, that somebody else holds.
// What it sends all the same is refused.
func TestAProcessThatWasStoppedReadsTheTruthWhenItGoesOn(t *testing.T) {
	for claim, stop := range map[string]time.Duration{
		"ForNineTenthsOfATimeout": stopTimeout * 9 / 10,
		"ForTwoTimeouts":          2 * stopTimeout,
	} {
		t.Run(claim, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel() // kills the process, if it is still there
			server := zktest.New(t)
			resource := newGuarded()
			a := startHolder(ctx, t, server.Addr())
			a.ask()
			held := a.answer()
			require.Equal(t, zklock.Held, held.State)
			require.Empty(t, held.Ready)
			require.NoError(t, resource.write(ctx, held.Stamp))

			c, err := zkconn.Dial(ctx, []string{server.Addr()}, zkconn.WithSessionTimeout(stopTimeout), zkconn.WithServerTick(100*time.Millisecond))
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
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

			a.signal(syscall.SIGSTOP)
			<-time.After(stop)
			a.ask()
			var h *zklock.Hold
			if stop > stopTimeout {
				h = <-won
				require.NotNil(t, h)
				require.NoError(t, resource.write(ctx, h.Next()))
			}
			a.signal(syscall.SIGCONT)
			l := a.answer()
			require.Contains(t, []zklock.State{zklock.Lost, zklock.Idle}, l.State)
			require.LessOrEqual(t, l.Left, time.Duration(0))
			require.Contains(t, l.Ready, "lost")

			if h == nil {
				select {
				case h = <-won:
				case <-time.After(stopTimeout / 2):
					require.FailNow(t, "a session that its client believes lost keeps the lock")
				}
				require.NotNil(t, h)
				require.NoError(t, resource.write(ctx, h.Next()))
			}
			require.Positive(t, h.Token().Compare(held.Stamp.Token))
			err = resource.write(ctx, l.Stamp)
			require.ErrorIs(t, err, fencing.ErrStale)
			require.ErrorContains(t, err, held.Stamp.Token.String())
			require.ErrorContains(t, err, h.Token().String())
			require.NoError(t, resource.broken())
			require.NoError(t, a.in.Close())
			require.NoError(t, a.cmd.Wait())
			require.NoError(t, h.Unlock(ctx))
		})
	}
}
