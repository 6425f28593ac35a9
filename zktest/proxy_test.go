package zktest_test

import (
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// patience bounds what must happen, a moment what must not.
const (
	patience = 10 * time.Second
	aMoment  = 100 * time.Millisecond
)

type noLog struct{}

func (noLog) Printf(string, ...any) {}

// resumed returns a client that asks for c's session on a new connection, and
// the answer.
func resumed(t *testing.T, c *rawClient, addr string) (*rawClient, wire.ConnectResponse) {
	t.Helper()
	d := dialRaw(t, addr)
	r, err := d.again(c, 0)
	require.NoError(t, err)
	return d, r
}

// sendCreate sends a create and does not wait.
func sendCreate(c *rawClient, path string, flags int32) {
	c.send(zktest.OpCreate, create(path, "data", flags, open...))
}

// created creates a node and waits for the answer.
func created(t *testing.T, c *rawClient, path string, flags int32) {
	t.Helper()
	require.Equal(t, wire.OK, c.must(zktest.OpCreate, create(path, "data", flags, open...)).Err)
}

// answered reads the reply to the last request, which must be a success.
func answered(t *testing.T, c *rawClient) {
	t.Helper()
	f, err := c.next()
	require.NoError(t, err)
	require.Equal(t, c.xid, f.Xid)
	require.Equal(t, wire.OK, f.Err)
}

// ownerOf returns the EphemeralOwner of the node at path, and whether there is
// a node.
func ownerOf(t *testing.T, c *rawClient, path string) (int64, bool) {
	t.Helper()
	f := c.must(zktest.OpExists, watched(path, false))
	if f.Err == wire.NoNode {
		return 0, false
	}
	require.Equal(t, wire.OK, f.Err)
	return f.stat(t).owner, true
}

func exists(t *testing.T, c *rawClient, path string) bool {
	t.Helper()
	_, ok := ownerOf(t, c, path)
	return ok
}

// untilGone waits until there is no node at path.
func untilGone(t *testing.T, c *rawClient, path string) {
	t.Helper()
	if c.must(zktest.OpExists, watched(path, true)).Err == wire.NoNode {
		return
	}
	f, err := c.next()
	require.NoError(t, err)
	require.Equal(t, wire.XidEvent, f.Xid)
}

// hungUp waits for the end of the connection; nothing must come before it.
func hungUp(t *testing.T, c *rawClient) {
	t.Helper()
	require.NoError(t, c.nc.SetReadDeadline(time.Now().Add(patience)))
	b, err := io.ReadAll(c.r)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Empty(t, b)
}

// deaf pings until the connection ends or a ping is not answered. A connection
// that takes over a session while it is being closed may be left open by the real
// server, which then drops what comes on it; clients find out by their pings.
func deaf(t *testing.T, c *rawClient) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		require.NoError(t, c.nc.SetDeadline(time.Now().Add(aMoment)))
		c.send(wire.OpPing, nil)
		if _, err := wire.ReadFrame(c.r, wire.MaxFrame); err != nil {
			return
		}
	}
	require.FailNow(t, "the session is still served")
}

// silent asserts that nothing arrives, not even an end.
func silent(t *testing.T, c *rawClient) {
	t.Helper()
	require.NoError(t, c.nc.SetReadDeadline(time.Now().Add(aMoment)))
	b, err := c.r.Peek(1)
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.Empty(t, b)
}

// world is a server, a proxy in front of it, and a client past the proxy.
type world struct {
	proxy  *zktest.Proxy
	addr   string // the proxy's
	direct *rawClient
	root   string // a node of this test's own
}

// inFrontOfEach runs a test against zktest and against the real server that
// ZKFENCE_ZK names.
func inFrontOfEach(t *testing.T, name string, f func(t *testing.T, w world)) {
	enter := func(t *testing.T, target string) {
		p := zktest.NewProxy(t, target)
		w := world{proxy: p, addr: p.Addr(), direct: connectRaw(t, target), root: "/zkfence-proxy-" + strings.ToLower(rand.Text())}
		created(t, w.direct, w.root, 0)
		f(t, w)
	}
	t.Run(name, func(t *testing.T) {
		t.Run("InMemory", func(t *testing.T) { enter(t, zktest.New(t).Addr()) })
		t.Run("Real", func(t *testing.T) {
			servers := os.Getenv("ZKFENCE_ZK")
			if servers == "" {
				t.Skip("ZKFENCE_ZK is not set: NOT tested against a real ZooKeeper")
			}
			enter(t, strings.Split(servers, ",")[0])
		})
	})
}

func TestProxyPasses(t *testing.T) {
	inFrontOfEach(t, "WhatAClientAndAServerSay", func(t *testing.T, w world) {
		conn, events, err := zk.Connect([]string{w.addr}, 10*time.Second, zk.WithLogger(noLog{}))
		require.NoError(t, err)
		defer func() {
			conn.Close()
			for range events {
			}
		}()
		path, err := conn.Create(w.root+"/n-", []byte("v"), zk.FlagEphemeral|zk.FlagSequence, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		data, stat, changed, err := conn.GetW(path)
		require.NoError(t, err)
		require.Equal(t, "v", string(data))
		require.Equal(t, conn.SessionID(), stat.EphemeralOwner)
		big := strings.Repeat("x", 500<<10)
		_, err = conn.Set(path, []byte(big), -1)
		require.NoError(t, err)
		require.Equal(t, zk.EventNodeDataChanged, (<-changed).Type)
		data, _, err = conn.Get(path)
		require.NoError(t, err)
		require.Equal(t, big, string(data))
		require.Equal(t, 1, w.proxy.Count(zktest.OpCreate))
		require.Equal(t, 1, w.proxy.For(conn.SessionID()).Count(zktest.OpSetData))
		require.Contains(t, w.proxy.Trace(10), "setData")
	})

	inFrontOfEach(t, "TheWordsOfMonitoring", func(t *testing.T, w world) {
		c := dialRaw(t, w.addr)
		_, err := c.nc.Write([]byte("srvr"))
		require.NoError(t, err)
		answer, err := io.ReadAll(c.r)
		require.NoError(t, err)
		require.Contains(t, string(answer), "Mode: ")
	})

	inFrontOfEach(t, "ACloseSessionFollowedByAnEnd", func(t *testing.T, w world) {
		for i := range 20 {
			c := connectRaw(t, w.addr)
			path := fmt.Sprint(w.root, "/", i)
			created(t, c, path, zk.FlagEphemeral)
			c.send(zktest.OpCloseSession, nil)
			require.NoError(t, c.nc.Close())
			untilGone(t, w.direct, path)
		}
	})

	inFrontOfEach(t, "TheServersEnd", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		c.send(zktest.OpCloseSession, nil)
		answered(t, c)
		hungUp(t, c)
	})
}

func TestProxyFaults(t *testing.T) {
	inFrontOfEach(t, "CutEndsConnectionsAndNoSession", func(t *testing.T, w world) {
		a, b := connectRaw(t, w.addr), connectRaw(t, w.addr)
		w.proxy.For(a.session).Cut()
		hungUp(t, a)
		require.False(t, exists(t, b, w.root+"/none"))
		_, r := resumed(t, a, w.addr)
		require.Equal(t, a.session, r.Session)
	})

	inFrontOfEach(t, "DropReplyCreatesAndHangsUp", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.DropReply(zktest.OpCreate, 1)
		sendCreate(c, w.root+"/n", 0)
		hungUp(t, c)
		require.True(t, exists(t, w.direct, w.root+"/n"))
	})

	inFrontOfEach(t, "DropRequestHangsUpAndDoesNotCreate", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.DropRequest(zktest.OpCreate, 1)
		sendCreate(c, w.root+"/n", 0)
		hungUp(t, c)
		require.False(t, exists(t, w.direct, w.root+"/n"))
	})

	inFrontOfEach(t, "RefuseClosesNewConnectionsUntilHealed", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Refuse(true)
		hungUp(t, dialRaw(t, w.addr))
		require.False(t, exists(t, c, w.root+"/none"))
		w.proxy.Heal()
		connectRaw(t, w.addr)
	})

	inFrontOfEach(t, "BlackholeSwallowsAndStaysSilent", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Blackhole(true)
		sendCreate(c, w.root+"/n", 0)
		fresh := dialRaw(t, w.addr)
		fresh.write(wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)}.Append(nil))
		silent(t, c)
		silent(t, fresh)
		w.proxy.Heal()
		require.False(t, exists(t, w.direct, w.root+"/n"))
		connectRaw(t, w.addr)
	})

	inFrontOfEach(t, "FreezeHoldsRequestsUntilUnfrozen", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Freeze(zktest.ToServer)
		sendCreate(c, w.root+"/n", 0)
		silent(t, c)
		require.False(t, exists(t, w.direct, w.root+"/n"))
		w.proxy.Unfreeze()
		answered(t, c)
	})

	inFrontOfEach(t, "FreezeHoldsRepliesAndTheEndOfTheStream", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Freeze(zktest.ToClient)
		c.send(zktest.OpCloseSession, nil)
		silent(t, c)
		w.proxy.Unfreeze()
		answered(t, c)
		hungUp(t, c)
	})

	inFrontOfEach(t, "FreezeHoldsWhatComesBeforeTheClientsEnd", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Freeze(zktest.ToServer)
		sendCreate(c, w.root+"/n", 0)
		require.NoError(t, c.nc.Close())
		require.Equal(t, wire.NoNode, w.direct.must(zktest.OpExists, watched(w.root+"/n", true)).Err)
		silent(t, w.direct)
		w.proxy.Unfreeze()
		f, err := w.direct.next()
		require.NoError(t, err)
		require.Equal(t, wire.XidEvent, f.Xid)
	})

	inFrontOfEach(t, "FreezeHidesTheServersEnd", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.Freeze(zktest.ToClient)
		require.NoError(t, w.proxy.Expire(c.session))
		silent(t, c)
		w.proxy.Unfreeze()
		hungUp(t, c)
	})

	inFrontOfEach(t, "HalfHandshakeIsAnsweredByHalfAFrame", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		w.proxy.HalfHandshake(true)
		d := dialRaw(t, w.addr)
		d.write(wire.ConnectRequest{TimeoutMs: 10_000, Session: c.session, Password: c.password}.Append(nil))
		require.NoError(t, d.nc.SetReadDeadline(time.Now().Add(patience)))
		_, err := d.r.Peek(12)
		require.NoError(t, err)
		half := d.r.Buffered()
		require.Less(t, half, 4+4+4+8+4+16)
		_, err = d.r.Discard(half)
		require.NoError(t, err)
		silent(t, d)
	})

	inFrontOfEach(t, "ExpireEndsTheSessionOnTheServer", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		created(t, c, w.root+"/own", zk.FlagEphemeral)
		require.NoError(t, w.proxy.Expire(c.session))
		hungUp(t, c)
		require.False(t, exists(t, w.direct, w.root+"/own"))
		_, r := resumed(t, c, w.addr)
		require.Zero(t, r.Session)
		require.ErrorIs(t, w.proxy.Expire(c.session), zktest.ErrNoSession)
		require.ErrorIs(t, w.proxy.Expire(12345), zktest.ErrNoSession)
	})

	// The first connection to be closed is the client's, and most clients are back
	// before the session has been closed on the other: they take it from there.
	inFrontOfEach(t, "ExpireEndsTheSessionOfAClientThatComesStraightBack", func(t *testing.T, w world) {
		for range 20 {
			c := connectRaw(t, w.addr)
			expired := make(chan error, 1)
			go func() { expired <- w.proxy.Expire(c.session) }()
			for known := true; known; {
				deaf(t, c)
				d := dialRaw(t, w.addr)
				r, err := d.again(c, 0)
				known = err != nil || r.Session != 0
				d.session, d.password = c.session, c.password
				c = d
			}
			require.NoError(t, <-expired)
		}
	})

	inFrontOfEach(t, "StealCreatesForAnotherSession", func(t *testing.T, w world) {
		const name = "/_c_5f0c1ab2-9d6c-4a8e-8a55-0d6b2f6c7e11-lock-"
		c := connectRaw(t, w.addr)
		w.proxy.Steal(2)
		var owners []int64
		for i := range 2 {
			sendCreate(c, w.root+name, zk.FlagEphemeral|zk.FlagSequence)
			hungUp(t, c)
			owner, ok := ownerOf(t, w.direct, fmt.Sprintf("%s%s%010d", w.root, name, i))
			require.True(t, ok)
			require.NotZero(t, owner)
			require.NotEqual(t, c.session, owner)
			owners = append(owners, owner)
			c, _ = resumed(t, c, w.addr)
		}
		require.Equal(t, owners[0], owners[1])
		w.proxy.Close()
		untilGone(t, w.direct, w.root+name+"0000000000")
	})

	inFrontOfEach(t, "NewSessionSaysNothingOfTheOldOne", func(t *testing.T, w world) {
		c := connectRaw(t, w.addr)
		created(t, c, w.root+"/own", zk.FlagEphemeral)
		w.proxy.NewSession(1)
		w.proxy.Cut()
		hungUp(t, c)
		_, fresh := resumed(t, c, w.addr)
		require.NotZero(t, fresh.Session)
		require.NotEqual(t, c.session, fresh.Session)
		owner, _ := ownerOf(t, w.direct, w.root+"/own")
		require.Equal(t, c.session, owner)
		_, old := resumed(t, c, w.addr)
		require.Equal(t, c.session, old.Session)
	})

	inFrontOfEach(t, "ZxidAheadHangsUpOnWhoHasSeenAnything", func(t *testing.T, w world) {
		w.proxy.ZxidAhead(true)
		connectRaw(t, w.addr)
		c := dialRaw(t, w.addr)
		c.write(wire.ConnectRequest{LastZxid: 1, TimeoutMs: 10_000, Password: make([]byte, 16)}.Append(nil))
		hungUp(t, c)
	})
}

// A server that outlives the ends of streams shows what passes behind them.
func TestProxyPassesEndsOneWayAtATime(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := zktest.NewProxy(t, ln.Addr().String())
	accepted := func(t *testing.T) *rawClient {
		nc, err := ln.Accept()
		require.NoError(t, err)
		return rawOver(t, nc)
	}
	defer func() { require.NoError(t, ln.Close()) }()
	endStream := func(t *testing.T, c *rawClient) {
		require.NoError(t, c.nc.(*net.TCPConn).CloseWrite())
	}

	t.Run("TheServersAnswersFollowTheClientsEnd", func(t *testing.T) {
		client := dialRaw(t, p.Addr())
		server := accepted(t)
		client.write([]byte("the handshake, as far as the proxy knows"))
		endStream(t, client)
		_, err := io.ReadAll(server.r)
		require.NoError(t, err)
		server.write([]byte("late"))
		require.NoError(t, server.nc.Close())
		got, err := io.ReadAll(client.r)
		require.NoError(t, err)
		require.Equal(t, "\x00\x00\x00\x04late", string(got))
	})

	t.Run("TheClientsRequestsFollowTheServersEnd", func(t *testing.T) {
		client := dialRaw(t, p.Addr())
		server := accepted(t)
		endStream(t, server)
		client.write([]byte("late"))
		_, err := io.ReadAll(client.r)
		require.NoError(t, err)
		require.NoError(t, client.nc.Close())
		got, err := io.ReadAll(server.r)
		require.NoError(t, err)
		require.Equal(t, "\x00\x00\x00\x04late", string(got))
	})

	t.Run("AFrozenClientsEndIsNotSeen", func(t *testing.T) {
		client := dialRaw(t, p.Addr())
		server := accepted(t)
		client.write([]byte("hello"))
		_, err := wire.ReadFrame(server.r, 10)
		require.NoError(t, err)
		p.Freeze(zktest.ToServer)
		require.NoError(t, client.nc.Close())
		silent(t, server)
		p.Unfreeze()
		hungUp(t, server)
	})
}

func TestProxyThief(t *testing.T) {
	s := zktest.New(t, zktest.WithSessionTimeouts(600*time.Millisecond, 600*time.Millisecond))
	pings := make(chan struct{}, 100)
	s.OnRequest(func(r zktest.Request) {
		if r.Op == zktest.OpPing {
			pings <- struct{}{}
		}
	})
	p := zktest.NewProxy(t, s.Addr())
	c := connectRaw(t, p.Addr())
	p.Steal(1)
	sendCreate(c, "/_c_", zk.FlagEphemeral)
	hungUp(t, c)

	t.Run("KeepsItsSessionForAsLongAsTheProxyLives", func(t *testing.T) {
		for range 6 { // one every third of the timeout
			<-pings
		}
		require.True(t, s.Exists("/_c_"))
	})

	t.Run("EndsItWithTheProxy", func(t *testing.T) {
		p.Close()
		require.False(t, s.Exists("/_c_"))
	})
}

func TestProxyClose(t *testing.T) {
	t.Run("EndsWhatIsFrozen", func(t *testing.T) {
		p, err := zktest.StartProxy(zktest.New(t).Addr())
		require.NoError(t, err)
		c, idle := connectRaw(t, p.Addr()), dialRaw(t, p.Addr())
		p.Freeze(zktest.BothWays)
		sendCreate(c, "/n", 0)
		p.Close()
		hungUp(t, c)
		hungUp(t, idle)
		p.Close()
	})

	t.Run("AServerThatIsNotThereIsAnEnd", func(t *testing.T) {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		require.NoError(t, free.Close())
		p := zktest.NewProxy(t, free.Addr().String())
		hungUp(t, dialRaw(t, p.Addr()))
		require.Error(t, p.Expire(1))
	})
}

func TestProxyStaysOnThisMachine(t *testing.T) {
	for _, target := range []string{"10.0.0.1:2181", "zookeeper.example.com:2181", "0.0.0.0:2181", "[::]:2181", ":2181", "128.0.0.1:2181"} {
		_, err := zktest.StartProxy(target)
		require.ErrorContains(t, err, "only a loopback IP address or localhost is dialled", target)
	}
	_, err := zktest.StartProxy("127.0.0.1")
	require.Error(t, err)
	for _, target := range []string{"127.0.0.1:2181", "localhost:2181", "[::1]:2181", "127.0.0.11:2181"} {
		p, err := zktest.StartProxy(target)
		require.NoError(t, err, target)
		p.Close()
	}
}
