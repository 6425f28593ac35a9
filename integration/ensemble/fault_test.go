package ensemble_test

import (
	"net"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/ensemble"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// dial connects a bare client to these servers.
func dial(t *testing.T, timeout time.Duration, servers ...string) *zk.Conn {
	t.Helper()
	conn, events, err := zk.Connect(servers, timeout, zk.WithLogger(quiet{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	limit := time.After(20 * time.Second)
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return conn
			}
		case <-limit:
			require.FailNow(t, "no session", "%v", servers)
		}
	}
}

// eventually waits for what a server, or a client, makes of a fault.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	require.Eventually(t, is, 30*time.Second, 50*time.Millisecond, what)
}

func write(t *testing.T, conn *zk.Conn, path string) {
	t.Helper()
	_, err := conn.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
}

func follower(t *testing.T, ens *ensemble.Ensemble) *ensemble.Server {
	t.Helper()
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	i := slices.IndexFunc(ens.Servers(), func(s *ensemble.Server) bool { return s != leader })
	return ens.Servers()[i]
}

func mode(t *testing.T, s *ensemble.Server) string {
	t.Helper()
	st, err := s.Status(t.Context())
	if err != nil {
		return "silent"
	}
	return st.Mode
}

func TestOneLeadsAndAllServe(t *testing.T) {
	ens := shared.Three(t)
	var modes []string
	for _, s := range ens.Servers() {
		modes = append(modes, mode(t, s))
		write(t, dial(t, 4*time.Second, s.Addr()), "/served-by-"+s.Addr())
	}
	slices.Sort(modes)
	require.Equal(t, []string{"follower", "follower", "leader"}, modes)
	leader, err := ens.Leader(t.Context())
	require.NoError(t, err)
	require.Equal(t, "leader", mode(t, leader))
}

func TestWordsAreAnswered(t *testing.T) {
	s := shared.Three(t).Server(2)
	answer, err := s.Ask(t.Context(), "conf")
	require.NoError(t, err)
	require.Contains(t, answer, "serverId=2\n")
	require.Contains(t, answer, "tickTime=100\n")
	require.Contains(t, answer, "maxSessionTimeout=60000\n")
}

// The addresses of a server that comes back are those that its clients know, and
// what it had logged is there, whichever way it went.
func TestAServerComesBackWhereItWas(t *testing.T) {
	ens := shared.Three(t)
	for name, end := range map[string]func(*ensemble.Server) error{
		"kill": func(s *ensemble.Server) error { return s.Kill(t.Context()) },
		"stop": func(s *ensemble.Server) error { return s.Stop(t.Context()) },
	} {
		t.Run(name, func(t *testing.T) {
			leader, err := ens.Leader(t.Context())
			require.NoError(t, err)
			conn := dial(t, 10*time.Second, ens.Addrs()...)
			session := conn.SessionID()
			write(t, conn, "/"+name)

			require.NoError(t, end(leader))
			_, err = net.DialTimeout("tcp", leader.Addr(), time.Second)
			require.Error(t, err, "a port without a server")
			require.NoError(t, ens.Await(t.Context()), "two are a majority")
			next, err := ens.Leader(t.Context())
			require.NoError(t, err)
			require.NotEqual(t, leader, next)

			require.NoError(t, leader.Start(t.Context()))
			require.NoError(t, ens.Await(t.Context()))
			require.Equal(t, "follower", mode(t, leader))
			_, stat, err := dial(t, 4*time.Second, leader.Addr()).Get("/" + name)
			require.NoError(t, err)
			require.Equal(t, session, stat.EphemeralOwner)
			eventually(t, "the session goes on", func() bool { return conn.State() == zk.StateHasSession })
			require.Equal(t, session, conn.SessionID())
		})
	}
}

// A paused server holds on to its connections and answers nothing. When it goes
// on they are answered, or ended, by a server that finds its leader lost before it
// reads what was asked.
func TestAPausedServerIsSilent(t *testing.T) {
	ens := shared.Three(t)
	s := follower(t, ens)
	nc, err := net.Dial("tcp", s.Addr())
	require.NoError(t, err)
	defer nc.Close()

	require.NoError(t, s.Pause(t.Context()))
	_, err = nc.Write([]byte("ruok"))
	require.NoError(t, err)
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(500*time.Millisecond)))
	answer := make([]byte, 4)
	_, err = nc.Read(answer)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded, "neither an answer nor an end")
	_, err = s.Ask(t.Context(), "ruok")
	require.Error(t, err)
	require.NoError(t, ens.Await(t.Context()), "the others do without it")

	require.NoError(t, s.Resume(t.Context()))
	require.NoError(t, nc.SetReadDeadline(time.Now().Add(20*time.Second)))
	if _, err = nc.Read(answer); err == nil {
		require.Equal(t, "imok", string(answer))
	}
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.NoError(t, ens.Await(t.Context()))
}

// A follower that has lost its disk learns from its leader what it had known.
func TestAWipedServerLearnsAgain(t *testing.T) {
	ens := shared.Three(t)
	s := follower(t, ens)
	conn := dial(t, 10*time.Second, ens.Addrs()...)
	write(t, conn, "/wiped")
	require.NoError(t, s.Wipe(t.Context()))
	require.Equal(t, "silent", mode(t, s))
	require.NoError(t, s.Start(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	exists, _, err := dial(t, 4*time.Second, s.Addr()).Exists("/wiped")
	require.NoError(t, err)
	require.True(t, exists)
}

// Cut off from the others, a server finds out and serves nobody, whereas its
// clients can still ask it; the others go on. That it answers reads until it finds
// out is seen where that takes longer, with a deposed leader.
func TestClientsReachAServerThatIsCutFromItsQuorum(t *testing.T) {
	ens := shared.Three(t)
	s := follower(t, ens)
	conn := dial(t, 10*time.Second, s.Addr())
	require.NoError(t, s.CutQuorum(t.Context()))
	answer, err := s.Ask(t.Context(), "ruok")
	require.NoError(t, err)
	require.Equal(t, "imok", answer)
	eventually(t, "it finds out", func() bool {
		st, err := s.Status(t.Context())
		return err == nil && st.Mode == ""
	})
	require.NoError(t, ens.Await(t.Context()), "the others serve")

	require.NoError(t, s.HealQuorum(t.Context()))
	require.NoError(t, ens.Await(t.Context()))
	eventually(t, "its client is back", func() bool { return conn.State() == zk.StateHasSession })
}

// One client's link is cut and another's is not, and the server ends the session
// of the first.
func TestARouteCutsOneClientOnly(t *testing.T) {
	for name, cut := range map[string]func(*ensemble.Route){"Freeze": (*ensemble.Route).Freeze, "Cut": (*ensemble.Route).Cut} {
		t.Run(name, func(t *testing.T) {
			ens := shared.Three(t)
			route := ens.Route(t)
			near, far := dial(t, 2*time.Second, ens.Addrs()...), dial(t, 2*time.Second, route.Addrs()...)
			session := near.SessionID()
			write(t, near, "/near")
			write(t, far, "/far")
			cut(route)
			eventually(t, "the session behind the cut ends", func() bool {
				exists, _, err := near.Exists("/far")
				return err == nil && !exists
			})
			exists, _, err := near.Exists("/near")
			require.NoError(t, err)
			require.True(t, exists)
			require.Equal(t, session, near.SessionID())

			route.Heal()
			eventually(t, "the client is back", func() bool {
				exists, _, err := far.Exists("/near")
				return err == nil && exists
			})
		})
	}
}

// Zxids start again, and what had been stored is gone.
func TestARebuiltEnsembleKnowsNothing(t *testing.T) {
	ens := shared.Three(t)
	conn := dial(t, 10*time.Second, ens.Addrs()...)
	_, err := conn.Create("/rebuilt", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, stat, err := conn.Get("/rebuilt")
	require.NoError(t, err)
	conn.Close()

	require.NoError(t, ens.Rebuild(t.Context()))
	conn = dial(t, 10*time.Second, ens.Addrs()...)
	exists, _, err := conn.Exists("/rebuilt")
	require.NoError(t, err)
	require.False(t, exists)
	_, err = conn.Create("/anew", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, anew, err := conn.Get("/anew")
	require.NoError(t, err)
	require.Less(t, anew.Czxid, stat.Czxid)
}
