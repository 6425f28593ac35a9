package session

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func observed() (*observer.ObservedLogs, func(*Config)) {
	core, logs := observer.New(zapcore.InfoLevel)
	return logs, func(c *Config) { c.Logger = zap.New(core) }
}

// Whoever runs the process must see an outage without asking for debug lines, and
// must not be flooded by it.
func TestAnOutageWarnsOncePerTimeout(t *testing.T) {
	virtually(t, func(b *bench) {
		logs, log := observed()
		c := b.dial("a", log)
		s := b.session(c)
		b.server.Refuse(true)
		b.server.Cut()
		b.lostWithin(s, 2*testTimeout, TrustRanOut)
		<-time.After(3*testTimeout + testTimeout/2)
		warned := logs.FilterLevelExact(zapcore.WarnLevel).All()
		require.GreaterOrEqual(b, len(warned), 3)
		require.LessOrEqual(b, len(warned), 4)
		require.Contains(b, warned[0].ContextMap()["servers"], "192.0.2.1:2181: ")

		cause := errors.New("no more patience")
		ctx, cancel := context.WithTimeoutCause(b.Context(), time.Second, cause)
		defer cancel()
		_, err := c.Session(ctx)
		require.ErrorIs(b, err, cause)
		require.ErrorContains(b, err, "zkconn: session: no session (192.0.2.1:2181: ")
		require.NotContains(b, err.Error(), "no answer yet")
		require.Equal(b, 1, logs.FilterMessage("session ended").Len(), "the session that stood, and it alone")
		_ = c.Close(context.WithoutCancel(b.Context()))
		require.Equal(b, 1, logs.FilterMessage("session ended").Len(), "the one that never stood has not ended")
	})
}

func TestADialThatNobodyAnswersWarns(t *testing.T) {
	virtually(t, func(b *bench) {
		b.server.Blackhole(true)
		logs, log := observed()
		cfg := Config{Servers: []string{"192.0.2.1:2181"}, Timeout: testTimeout, Tick: testTick, Dialer: b.net.Dialer("a")}
		log(&cfg)
		ctx, cancel := context.WithTimeout(b.Context(), testTimeout)
		defer cancel()
		_, err := Dial(ctx, cfg)
		require.ErrorIs(b, err, context.DeadlineExceeded)
		require.Equal(b, 1, logs.Len(), "%v", logs.All())
		require.Equal(b, zapcore.WarnLevel, logs.All()[0].Level)
		require.Contains(b, logs.All()[0].ContextMap()["servers"], "no answer within")
	})
}

func TestASessionThatStandsIsNotCalledAbsent(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		ctx, cancel := context.WithCancel(b.Context())
		cancel()
		_, err := c.Session(ctx)
		require.ErrorIs(b, err, context.Canceled)
		require.NotContains(b, err.Error(), "no session")
		b.close(c)
	})
}
