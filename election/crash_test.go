//go:build unix

package election_test

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

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
)

const (
	leaderServers = "ELECTION_TEST_SERVERS"
	leaderPath    = "ELECTION_TEST_PATH"
	leaderTimeout = "ELECTION_TEST_TIMEOUT"
)

// programs are what this test binary runs in processes of their own.
var programs = stage.Programs{"leader": leaderProgram}

func TestProgram(t *testing.T) { programs.Run(t) }

// leaderProgram is a service: it stands until it is interrupted, and says so when
// it leads. Its context is all that it needs to end cleanly.
func leaderProgram(t *testing.T) {
	ctx, stop := signal.NotifyContext(stage.Orphaned(t.Context()), syscall.SIGINT)
	defer stop()
	timeout, err := time.ParseDuration(os.Getenv(leaderTimeout))
	require.NoError(t, err)
	c, err := zkconn.Dial(ctx, strings.Split(os.Getenv(leaderServers), ","),
		zkconn.WithSessionTimeout(timeout), zkconn.WithServerTick(200*time.Millisecond))
	require.NoError(t, err)
	e, err := election.New(c, os.Getenv(leaderPath), "leader")
	require.NoError(t, err)
	err = e.Run(ctx, func(ctx context.Context, term *election.Term) error {
		s, err := c.Session(ctx)
		require.NoError(t, err)
		stage.Say("%v %x", term.Token(), s.ID())
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, c.Close(context.WithoutCancel(ctx)))
}

// leading is what a leaderProgram says once it leads.
type leading struct {
	token   fencing.Token
	session int64
	at      time.Time
}

func launch(s *scene) *stage.Process {
	s.T.Helper()
	return programs.Start(s.T, "leader", leaderServers+"="+strings.Join(s.Servers, ","), leaderPath+"="+s.Path, leaderTimeout+"="+s.Timeout.String())
}

func leads(s *scene, p *stage.Process, within time.Duration) leading {
	s.T.Helper()
	line := p.Line(within)
	l := leading{at: time.Now()}
	var token string
	_, err := fmt.Sscanf(line, "%s %x", &token, &l.session)
	require.NoError(s.T, err, "%q", line)
	require.NoError(s.T, l.token.UnmarshalText([]byte(token)))
	return l
}

// A supervisor restarts a crashed leader within the second, with the same info, on
// the same machine. Its former self still leads: whatever that had in flight may
// land, so the new one must not take the old node for its own.
func TestALeaderThatCrashedIsWaitedOutByItsSuccessor(t *testing.T) {
	t.Parallel() // it waits for a session to time out, in real time
	overTCP(t, func(s *scene) {
		s.Timeout = 1500 * time.Millisecond
		ledger := stage.NewLedger()
		p := launch(s)
		old := leads(s, p, 10*time.Second)
		node := s.Nodes()[0]
		p.Kill()
		crashed := time.Now()
		require.Equal(s.T, []string{node}, s.Nodes(), "nobody has said goodbye")

		restarted := launch(s)
		s.Eventually(2*time.Second, func() bool { return len(s.Nodes()) == 2 }, "the restarted one stands")
		fresh := leads(s, restarted, 2*s.Timeout)
		require.NotContains(s.T, s.Nodes(), node)
		require.NotEqual(s.T, old.session, fresh.session)
		require.NoError(s.T, ledger.Write(s.Ctx, fencing.Stamp{Token: fresh.token, Seq: 1}))
		require.ErrorIs(s.T, ledger.Write(s.Ctx, fencing.Stamp{Token: old.token, Seq: 9}), fencing.ErrStale, "what the crashed one had sent")
		require.NoError(s.T, ledger.Broken())
		// Its keeper had been heard within the last eighth of the timeout.
		require.Greater(s.T, fresh.at.Sub(crashed), s.Timeout*3/4)
		require.Less(s.T, fresh.at.Sub(crashed), s.Timeout+2*time.Second)
	})
}

// Somebody presses Ctrl-C. Without a word to the ensemble the next one in line
// would wait for a session timeout, at every deployment.
func TestALeaderThatIsStoppedHandsOverInUnderASecond(t *testing.T) {
	overTCP(t, func(s *scene) {
		s.Timeout = 10 * time.Second
		p := launch(s)
		old := leads(s, p, 10*time.Second)
		_, next := s.candidate("next")
		standby := s.stands(s.Ctx, next)
		require.False(s.T, standby.returned())
		stopped := time.Now()
		p.Signal(syscall.SIGINT)
		term := s.won(standby, time.Second)
		require.Less(s.T, standby.at.Sub(stopped), time.Second)
		require.Positive(s.T, term.Token().Compare(old.token))
		require.NoError(s.T, term.Resign(s.Ctx))
	})
}
