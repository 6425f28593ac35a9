package session

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// Close comes between the two goroutines that a new session is given. A mutex
// that has been waited for long goes to whoever waits first, so the order is sure.
func TestCloseInTheMiddleOfAnOpen(t *testing.T) {
	server := zktest.New(t)
	cfg := Config{Servers: []string{server.Addr()}, Timeout: testTimeout, Tick: testTick}
	require.NoError(t, cfg.settle())
	for range 20 {
		c := &Client{cfg: cfg, done: make(chan struct{}), changed: make(chan struct{})}
		c.ctx, c.cancel = context.WithCancelCause(context.WithoutCancel(t.Context()))
		c.mu.Lock()
		opened, closed := make(chan error), make(chan error)
		go func() {
			s, err := c.open(c.ctx)
			if err == nil {
				s.end(Closed) // Close came after all
				err = ErrClosed
			}
			opened <- err
		}()
		<-time.After(3 * time.Millisecond) // it waits for the mutex
		go func() { closed <- c.Close(context.WithoutCancel(t.Context())) }()
		<-time.After(3 * time.Millisecond)
		c.mu.Unlock()
		c.mu.Lock() // who has waited in vain once more is served in turn
		<-time.After(3 * time.Millisecond)
		c.mu.Unlock()
		require.ErrorIs(t, <-opened, ErrClosed)
		require.NoError(t, <-closed)
	}
}
