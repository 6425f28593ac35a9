package zktest

import (
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// TestCrowd has thousands of connections over TCP at once, half of which say
// nothing: who does is served, each costs little, and in the end nothing is left.
func TestCrowd(t *testing.T) {
	before := taken()
	s, err := Start()
	require.NoError(t, err)
	defer s.Close()

	conns := make([]net.Conn, crowd)
	defer func() {
		for _, nc := range conns {
			if nc != nil {
				_ = nc.Close()
			}
		}
	}()
	// each has many hands do something for every connection that speaks.
	each := func(do func(i int)) {
		t.Helper()
		var wg sync.WaitGroup
		const hands = 32
		for h := range hands {
			wg.Go(func() {
				for i := h; i < crowd && !t.Failed(); i += hands {
					do(i)
				}
			})
		}
		wg.Wait()
		require.False(t, t.Failed())
	}
	speaks := func(i int) bool { return i%2 == 0 }
	hears := func(i int) []byte {
		payload, err := wire.ReadFrame(conns[i], wire.MaxFrame)
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
		return payload
	}
	says := func(i int, op Op, body func(*wire.Encoder)) {
		if _, err := conns[i].Write(framed(request(1, op, body))); err != nil {
			t.Errorf("connection %d: %v", i, err)
		}
	}

	each(func(i int) {
		nc, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Errorf("connection %d: %v", i, err)
			return
		}
		conns[i] = nc
		_ = nc.SetDeadline(time.Now().Add(time.Minute))
	})
	each(func(i int) {
		if speaks(i) {
			_, _ = conns[i].Write(framed(wire.ConnectRequest{TimeoutMs: 60_000}.Append(nil)))
			hears(i)
			says(i, OpExists, seeing("/news", true))
			hears(i)
		}
	})
	require.Len(t, s.Sessions(), crowd/2)
	require.Equal(t, crowd/2, s.Watches())
	intact(t, s)
	require.Less(t, (taken()-before)/crowd, 64<<10, "bytes for a connection, both ends of it")

	require.NoError(t, s.Create("/news", nil))
	each(func(i int) {
		if speaks(i) {
			h, err := wire.ParseReplyHeader(hears(i))
			if err != nil || h.Xid != wire.XidEvent {
				t.Errorf("connection %d: %+v %v", i, h, err)
			}
			says(i, wire.OpPing, nil)
			hears(i)
		}
	})
	intact(t, s)

	// Some hang up, the server hangs up on the rest.
	for i := range crowd / 4 {
		_ = conns[i].Close()
	}
	s.Close()
	require.Empty(t, connected(s))
	require.Zero(t, s.Watches())
	each(func(i int) {
		if _, err := conns[i].Read(make([]byte, 1)); err == nil {
			t.Errorf("connection %d is open", i)
		}
		_ = conns[i].Close()
	})
	require.Zero(t, len(s.attached)+len(s.dataWatches.byConn)+len(s.taps))
	conns, s = nil, nil
	// The runtime keeps what it needs for as many goroutines again.
	require.Less(t, (taken()-before)/crowd, 3<<10, "bytes that are left of a connection")
}

// taken is how much memory is in use.
func taken() int {
	runtime.GC()
	runtime.GC() // what only a finalizer kept alive goes now
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc + m.StackInuse)
}
