package session

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// garbled is a socket on which, once armed, an event comes that no client can
// decode, and hook is called with its last byte.
type garbled struct {
	net.Conn
	armed *atomic.Bool
	rest  []byte
	hook  func()
}

func (g *garbled) Read(b []byte) (int, error) {
	if len(g.rest) == 0 {
		n, err := g.Conn.Read(b)
		if err != nil || !g.armed.CompareAndSwap(true, false) {
			return n, err
		}
		g.rest = wire.AppendFrame(nil, append(wire.ReplyHeader{Xid: wire.XidEvent}.Append(nil), 1))
	}
	n := copy(b, g.rest)
	if g.rest = g.rest[n:]; len(g.rest) == 0 {
		g.hook()
	}
	return n, nil
}

// A zk.Conn that cannot decode an event stops reading. If the session ends just
// then nobody reads on until the server's goodbye, and Close must not wait for it.
func TestCloseDoesNotWaitForAReaderThatHasLeft(t *testing.T) {
	virtually(t, func(b *bench) {
		var armed atomic.Bool
		var s *Session
		c := b.dial("a", func(cfg *Config) {
			dial := cfg.Dialer
			cfg.Dialer = func(network, address string, timeout time.Duration) (net.Conn, error) {
				sock, err := dial(network, address, timeout)
				if err != nil {
					return nil, err
				}
				return &garbled{Conn: sock, armed: &armed, hook: func() { s.end(Replaced) }}, nil
			}
		})
		s = b.session(c)
		armed.Store(true)
		time.Sleep(testTimeout)
		require.Error(b, s.Err())
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.Context()), time.Minute)
		defer cancel()
		require.NoError(b, c.Close(ctx))
		select {
		case <-s.gone:
		case <-time.After(time.Minute):
			b.Fatal("the ended session has not wound down")
		}
	})
}
