package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	testTimeout = 6 * time.Second
	testTick    = 400 * time.Millisecond
)

// bench is one server on a network of virtual time, and who connects to it.
type bench struct {
	*testing.T
	net    *zktest.Network
	server *zktest.Server
}

func virtually(t *testing.T, fn func(b *bench)) {
	t.Helper()
	bubble.Run(t, func(b *bubble.B) { fn(&bench{T: b.T, net: b.Net, server: b.Server}) }, bubble.WithTick(testTick))
}

func (b *bench) dial(host string, change ...func(*Config)) *Client {
	cfg := Config{Servers: []string{"192.0.2.1:2181"}, Timeout: testTimeout, Tick: testTick, Dialer: b.net.Dialer(host), Identity: host}
	for _, f := range change {
		f(&cfg)
	}
	c, err := Dial(b.Context(), cfg)
	require.NoError(b, err)
	b.Cleanup(func() { _ = c.Close(context.WithoutCancel(b.Context())) }) // again, where the test has got that far
	return c
}

func (b *bench) session(c *Client) *Session {
	ctx, cancel := context.WithTimeout(b.Context(), time.Minute)
	defer cancel()
	s, err := c.Session(ctx)
	require.NoError(b, err)
	return s
}

func (b *bench) close(c *Client) {
	require.NoError(b, c.Close(context.WithoutCancel(b.Context())))
}

func (b *bench) lostWithin(s *Session, d time.Duration, why Reason) time.Duration {
	b.Helper()
	begin := time.Now()
	select {
	case <-s.Context().Done():
	case <-time.After(d):
		b.Fatalf("the session has not ended after %v", d)
	}
	var lost *LostError
	require.ErrorAs(b, context.Cause(s.Context()), &lost)
	require.Equal(b, why, lost.Reason)
	return time.Since(begin)
}

func (b *bench) fired(w *Watch) {
	b.Helper()
	select {
	case <-w.Fired():
	case <-time.After(time.Minute):
		b.Fatal("the watch has not fired")
	}
}

func TestASessionIsGrantedNotAskedFor(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a", func(c *Config) { c.Timeout = 2 * time.Minute })
		require.Equal(b, 20*testTick, b.session(c).Timeout())
		b.close(c)
		require.Empty(b, b.server.Sessions(), "a closed client's session is gone at once")
	})
}
