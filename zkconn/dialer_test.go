package zkconn_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
)

// A dialer's mistake is a failed dial, not a crash on a goroutine that nobody
// can recover.
func TestADialerThatReturnsNothingIsNamed(t *testing.T) {
	dialer := zkconn.WithDialer(func(string, string, time.Duration) (net.Conn, error) { return nil, nil })
	for name, opts := range map[string][]zkconn.Option{
		"Plain": {dialer},
		"TLS":   {dialer, zkconn.WithTLS(&tls.Config{})},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			_, err := zkconn.Dial(ctx, []string{"127.0.0.1:1"}, opts...)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, "127.0.0.1:1: zkconn: the dialer returned neither a connection nor an error")
		})
	}
}
