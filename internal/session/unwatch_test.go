package session

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// A zk.Conn that reconnects asks for its watches again, relative to a number that
// its receiver may be raising at that moment: what happened in between was told
// to nobody. So it has none of ours to ask for, and we arm each anew.
func TestAReconnectAsksForNoWatchesAgain(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, b.server.Create("/n", nil))
		require.NoError(b, b.server.Create("/m", nil))
		first, err := s.Watch(b.Context(), "/n")
		require.NoError(b, err)
		_, err = s.Watch(b.Context(), "/m")
		require.NoError(b, err)
		for range 10 {
			_, next := s.Connection()
			b.server.Cut()
			<-next
			time.Sleep(testTimeout / 16)
			require.Zero(b, b.server.Watches(), "nobody has asked yet")
			again, err := s.Watch(b.Context(), "/n")
			require.NoError(b, err)
			require.Equal(b, 1, b.server.Watches())
			require.Equal(b, first.Fired(), again.Fired())
			select {
			case <-first.Fired():
				b.Fatal("a reconnect is no change of the node")
			default:
			}
		}
		require.Zero(b, b.server.Count(zktest.OpSetWatches))
		require.NoError(b, b.server.Delete("/n"))
		<-first.Fired()
		require.True(b, first.Deleted())
		b.close(c)
	})
}

// The same on the real clock, for the race detector: it sees the zk.Conn's own
// race if there is anything to ask for.
func TestReconnectsWithWatchesDoNotRace(t *testing.T) {
	server := zktest.New(t)
	require.NoError(t, server.Create("/n", nil))
	c, err := Dial(t.Context(), Config{Servers: []string{server.Addr()}, Timeout: time.Second, Tick: 100 * time.Millisecond})
	require.NoError(t, err)
	s, err := c.Session(t.Context())
	require.NoError(t, err)
	for range 50 {
		_, next := s.Connection()
		server.Cut()
		select {
		case <-next:
		case <-s.Context().Done():
			require.NoError(t, s.Err())
		}
		// An answer as early as can be; it may also be lost with the connection.
		_, _ = s.Watch(t.Context(), "/n")
	}
	require.NoError(t, s.Err())
	require.NoError(t, c.Close(context.WithoutCancel(t.Context())))
}

// Bytes put into the middle of a frame would be taken for the rest of it.
func TestNothingFollowsAFrameThatBrokeOff(t *testing.T) {
	for claim, partial := range map[string]int{"Whole": 0, "InTheLength": 2, "InTheHeader": 10, "InTheBody": 22} {
		t.Run(claim, func(t *testing.T) {
			cfg := Config{Servers: []string{"127.0.0.1:1"}}
			require.NoError(t, cfg.settle())
			s := newSession(&Client{cfg: cfg, ctx: t.Context()})
			s.timeout = testTimeout
			s.watches[watchKey{path: "/n"}] = &watchEntry{}
			near, far := net.Pipe()
			c := newConn(s, near, 0)
			c.passed.Store(true)

			frame := wire.ReplyHeader{Xid: 7}.Append(nil)
			frame = wire.AppendFrame(nil, append(frame, "some answer"...))
			sent := append(frame, frame[:partial]...)
			go func() {
				_, _ = far.Write(sent)
				_ = far.Close()
			}()
			var got []byte
			buf := make([]byte, 5)
			for {
				n, err := c.Read(buf)
				got = append(got, buf[:n]...)
				if err != nil {
					break
				}
			}
			require.Equal(t, sent, got[:len(sent)])
			rest := got[len(sent):]
			if partial > 0 {
				require.Empty(t, rest)
				return
			}
			h, err := wire.ParseReplyHeader(rest[4:])
			require.NoError(t, err)
			require.Equal(t, wire.XidEvent, h.Xid)
			d := wire.NewDecoder(rest[4+wire.ReplyHeaderLen:])
			require.EqualValues(t, zk.EventNodeDataChanged, d.Int32())
			require.EqualValues(t, unwatched, d.Int32())
			require.Equal(t, "/n", d.String())
			require.Zero(t, d.Len())
		})
	}
}
