package bubble_test

import (
	"crypto/rand"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// inOrder tries the servers in order. The client shuffles them, and no seed
// repeats that.
type inOrder struct {
	servers []string
	next    int
}

func (p *inOrder) Init(servers []string) error {
	p.servers = slices.Sorted(slices.Values(servers))
	return nil
}

func (p *inOrder) Len() int   { return len(p.servers) }
func (p *inOrder) Connected() {}

func (p *inOrder) Next() (server string, retryStart bool) {
	server = p.servers[p.next%len(p.servers)]
	p.next++
	return server, p.next > len(p.servers) && p.next%len(p.servers) == 1
}

// connect returns a go-zookeeper client with a session, on a host of its own.
func connect(b *bubble.B, host string, timeout time.Duration) *zk.Conn {
	conn, events, err := zk.Connect(b.Servers(), timeout, zk.WithDialer(b.Dialer(host)), zk.WithLogger(quiet{}),
		zk.WithMaxConnBufferSize(64<<10), zk.WithHostProvider(&inOrder{}))
	require.NoError(b.T, err)
	b.Cleanup(func() {
		conn.Close()
		for range events {
		}
	})
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

// What the example shows is a test that passes.
func TestTheExampleRuns(t *testing.T) {
	start := time.Now()
	bubble.Run(t, cutOff)
	require.Less(t, time.Since(start), 20*time.Second)
}

func TestRun(t *testing.T) {
	t.Run("ASessionTimeoutCostsNoRealTime", func(t *testing.T) {
		start := time.Now()
		bubble.Run(t, func(b *bubble.B) {
			a := connect(b, "a", 30*time.Second)
			other := connect(b, "b", 30*time.Second)
			_, err := a.Create("/own", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			require.NoError(b.T, err)
			_, _, gone, err := other.GetW("/own")
			require.NoError(b.T, err)
			cut := time.Now()
			b.Net.Partition("a", b.Server.Addr())
			require.Equal(b.T, zk.EventNodeDeleted, (<-gone).Type)
			require.InDelta(b.T, 30*time.Second, time.Since(cut), float64(11*time.Second))
		})
		require.Less(t, time.Since(start), 20*time.Second)
	})

	t.Run("CleanupsRunInsideLastOneFirstWithEverythingHealed", func(t *testing.T) {
		var order []string
		bubble.Run(t, func(b *bubble.B) {
			b.Cleanup(func() {
				order = append(order, "first")
				conn := connect(b, "late", 10*time.Second)
				_, err := conn.Create("/late", nil, 0, zk.WorldACL(zk.PermAll))
				require.NoError(b.T, err)
			})
			b.Cleanup(func() { order = append(order, "second") })
			b.Net.Partition("late", b.Server.Addr())
			b.Server.Refuse(true)
			b.Server.Stall(true)
		})
		require.Equal(t, []string{"second", "first"}, order)
	})

	t.Run("FaultsOnOneClientAreTakenBackSoThatItCanClose", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			frozen, black := connect(b, "frozen", 10*time.Second), connect(b, "black", 10*time.Second)
			closed := make(chan bool, 2)
			b.Cleanup(func() {
				for _, conn := range []*zk.Conn{frozen, black} {
					start := time.Now()
					conn.Close()
					closed <- time.Since(start) < time.Second
				}
				require.True(b.T, <-closed, "go-zookeeper gives up an unanswered close after a second")
				require.True(b.T, <-closed)
			})
			b.Server.From("frozen").Freeze(zktest.BothWays)
			b.Server.For(black.SessionID()).Blackhole(true)
		})
	})

	t.Run("ASeedRepeatsTheTrace", func(t *testing.T) {
		trace := func(seed uint64) (s string) {
			bubble.Run(t, func(b *bubble.B) {
				a, c := connect(b, "a", 10*time.Second), connect(b, "b", 10*time.Second)
				id := make([]byte, 4)
				_, err := rand.Read(id)
				require.NoError(b.T, err)
				for _, conn := range []*zk.Conn{a, c} {
					_, err := conn.Create("/n-", id, zk.FlagSequence, zk.WorldACL(zk.PermAll))
					require.NoError(b.T, err)
				}
				names, _, err := a.Children("/")
				require.NoError(b.T, err)
				time.Sleep(time.Minute)
				data, _, err := a.Get("/" + names[0])
				require.NoError(b.T, err)
				s = b.Server.Trace(1000) + string(data)
			}, bubble.WithSeed(seed), bubble.WithSeededCrypto())
			return s
		}
		first := trace(3)
		for range 3 {
			require.Equal(t, first, trace(3))
		}
		require.NotEqual(t, first, trace(4))
	})

	t.Run("OptionsReachTheServer", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			require.EqualValues(b.T, 9, b.Seed)
			connect(b, "a", 10*time.Hour)
			require.Equal(b.T, 40*time.Second, b.Server.Sessions()[0].Timeout)
		}, bubble.WithSeed(9), bubble.WithTick(time.Second),
			bubble.WithServer(zktest.WithSessionTimeouts(time.Second, 40*time.Second)))
	})

	t.Run("TheServerCannotBeTakenOffTheNetwork", func(t *testing.T) {
		elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, elsewhere.Close()) }()
		bubble.Run(t, func(b *bubble.B) {
			connect(b, "a", 10*time.Second)
		}, bubble.WithServer(zktest.WithListener(elsewhere)))
	})
}
