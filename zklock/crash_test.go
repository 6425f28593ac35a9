//go:build unix

package zklock_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

const (
	holderServers = "ZKLOCK_TEST_SERVERS"
	holderPath    = "ZKLOCK_TEST_PATH"
	holderTimeout = "ZKLOCK_TEST_TIMEOUT"
)

func init() { programs["holder"] = holderProgram }

// holderProgram holds a lock until it is interrupted, as a service does: on a
// signal it closes its Client and leaves everything else to that.
func holderProgram(t *testing.T) {
	ctx, stop := signal.NotifyContext(stage.Orphaned(t.Context()), syscall.SIGINT)
	defer stop()
	timeout, err := time.ParseDuration(os.Getenv(holderTimeout))
	require.NoError(t, err)
	c, err := zkconn.Dial(ctx, strings.Split(os.Getenv(holderServers), ","),
		zkconn.WithSessionTimeout(timeout), zkconn.WithServerTick(200*time.Millisecond), zkconn.WithIdentity("holder"))
	require.NoError(t, err)
	m, err := zklock.New(c, os.Getenv(holderPath))
	require.NoError(t, err)
	h, err := m.Lock(ctx)
	require.NoError(t, err)
	held := h.Internal()
	stage.Say("%v %s %x", h.Token(), held.Node, held.Session.ID())
	<-ctx.Done()
	require.NoError(t, c.Close(context.WithoutCancel(ctx)))
}

// holding is what a holderProgram says once it holds.
type holding struct {
	token   fencing.Token
	node    string
	session int64
	at      time.Time
}

func launch(s *scene) *stage.Process {
	s.T.Helper()
	return programs.Start(s.T, "holder", holderServers+"="+strings.Join(s.Servers, ","), holderPath+"="+s.Path, holderTimeout+"="+s.Timeout.String())
}

func holds(s *scene, p *stage.Process, within time.Duration) holding {
	s.T.Helper()
	line := p.Line(within)
	h := holding{at: time.Now()}
	var token string
	_, err := fmt.Sscanf(line, "%s %s %x", &token, &h.node, &h.session)
	require.NoError(s.T, err, "%q", line)
	require.NoError(s.T, h.token.UnmarshalText([]byte(token)))
	return h
}

// A supervisor restarts a crashed holder within the second, with the same name,
// on the same machine. Its former self still owns the lock: whatever that had in
// flight may land, so the new one must not take the old node for its own, and
// has to wait until the ensemble has given up on the old session.
func TestAHolderThatCrashedIsWaitedOutByItsSuccessor(t *testing.T) {
	t.Parallel() // it waits for a session to time out, in real time
	overTCP(t, func(s *scene) {
		s.Timeout = 3 * time.Second
		file := stage.NewLedger()
		p := launch(s)
		old := holds(s, p, 10*time.Second)
		p.Kill()
		crashed := time.Now()
		require.True(s.T, s.Operator.Exists(old.node), "nobody has said goodbye")

		restarted := launch(s)
		s.Eventually(2*time.Second, func() bool { return len(s.Nodes()) == 2 }, "the restarted one queues up")
		fresh := holds(s, restarted, 2*s.Timeout)
		require.False(s.T, s.Operator.Exists(old.node))
		require.NotEqual(s.T, old.node, fresh.node)
		require.NotEqual(s.T, old.session, fresh.session)
		require.NoError(s.T, file.Write(s.Ctx, fencing.Stamp{Token: fresh.token, Seq: 1}))
		require.ErrorIs(s.T, file.Write(s.Ctx, fencing.Stamp{Token: old.token, Seq: 1}), fencing.ErrStale, "what the crashed one had sent")
		// Its keeper had been heard within the last eighth of the timeout.
		require.Greater(s.T, fresh.at.Sub(crashed), s.Timeout*3/4)
		require.Less(s.T, fresh.at.Sub(crashed), s.Timeout+2*time.Second)
	})
}

// Somebody presses Ctrl-C. Without a word to the ensemble the next one in line
// would wait for a session timeout, at every deployment.
func TestAHolderThatIsStoppedHandsOverInUnderASecond(t *testing.T) {
	overTCP(t, func(s *scene) {
		s.Timeout = 10 * time.Second
		p := launch(s)
		old := holds(s, p, 10*time.Second)
		next := s.locking(s.Ctx, s.mutex(s.Dial("next")))
		require.False(s.T, next.returned())

		stopped := time.Now()
		p.Signal(syscall.SIGINT)
		got := s.granted(next, time.Second)
		require.Less(s.T, next.at.Sub(stopped), time.Second)
		require.Positive(s.T, got.Token().Compare(old.token))
		require.NoError(s.T, got.Unlock(s.Ctx))
	})
}
