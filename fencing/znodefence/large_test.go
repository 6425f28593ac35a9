package znodefence_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// A command between what a server reads and what go-zookeeper sends was sent a thousand
// times, and each time the server cut the connection that carries the owner's Hold. At
// the end others were said to have moved the memory.
func TestACommandThatIsTooLargeIsNotSent(t *testing.T) {
	w := newWorld(t)
	m, err := zklock.New(w.client, "/locks/report")
	require.NoError(t, err)
	h, err := m.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.guard.Raise(t.Context(), "the report", h.Token()))
	for _, size := range []int{wire.MaxFrame, 1400 << 10, 4 << 20} {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		before := len(w.Requests())
		err := w.guard.Do(ctx, znodefence.Command{Resource: "the report", Stamp: h.Next()}, func(_ context.Context, tx *znodefence.Tx) error {
			tx.Create("/large", make([]byte, size), nil)
			return nil
		})
		cancel()
		require.ErrorIs(t, err, znodefence.ErrTooLarge)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorContains(t, err, "limit 1048575")
		multis := 0
		for _, r := range w.Requests()[before:] {
			require.NotEqual(t, zktest.OpCreateSession, r.Op, "the connection was cut")
			if r.Op == zktest.OpMulti && r.Path == "/guards/the%20report" {
				multis++
			}
		}
		require.Equal(t, 1, multis, "that no earlier try can be applied any more")
	}
	require.False(t, w.Exists("/large"))
	require.NoError(t, h.Context().Err())
	require.NoError(t, w.publish(t.Context(), w.guard, h, h.Next(), "second", nil))
}

// The size is what the server counts: what just fits is applied.
func TestTheLargestCommandIsApplied(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.Create("/gone", nil))
	require.NoError(t, w.Create("/seen", nil))
	read, gone, seen := w.stat(report), w.stat("/gone"), w.stat("/seen")
	do := func(seq uint64, size int) error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return w.guard.Do(ctx, znodefence.Command{Resource: "the report", Stamp: at(t, 10, seq)}, func(_ context.Context, tx *znodefence.Tx) error {
			tx.Check("/seen", seen)
			tx.Set(report, nil, read)
			tx.Delete("/gone", gone)
			tx.Create("/large", make([]byte, size), append(zk.WorldACL(zk.PermRead), zk.DigestACL(zk.PermAll, "ada", "secret")...))
			return nil
		})
	}
	err := do(1, wire.MaxFrame)
	require.ErrorIs(t, err, znodefence.ErrTooLarge)
	var bytes int
	_, text, _ := strings.Cut(err.Error(), "has ")
	_, err = fmt.Sscanf(text, "%d bytes", &bytes)
	require.NoError(t, err)
	fits := wire.MaxFrame - (bytes - wire.MaxFrame)
	require.ErrorIs(t, do(2, fits+1), znodefence.ErrTooLarge)
	require.NoError(t, do(3, fits))
	data, _, err := w.Get("/large")
	require.NoError(t, err)
	require.Len(t, data, fits)
}

// Where jute.maxbuffer is smaller nobody can know. What is told at the end is true.
func TestAConnectionThatAlwaysBreaksIsNoCrowd(t *testing.T) {
	bubble.Run(t, func(b *bubble.B) {
		ctx := b.T.Context()
		c, err := zkconn.Dial(ctx, b.Servers(), zkconn.WithDialer(b.Dialer("a")), zkconn.WithSessionTimeout(10*time.Second))
		require.NoError(b.T, err)
		b.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
		g, err := znodefence.New(c, "/guards")
		require.NoError(b.T, err)
		require.NoError(b.T, g.Raise(ctx, "r", at(b.T, 10, 0).Token))
		s, err := c.Session(ctx)
		require.NoError(b.T, err)
		b.Server.For(s.ID()).DropRequest(zktest.OpMulti, -1)
		err = g.Do(ctx, znodefence.Command{Resource: "r", Stamp: at(b.T, 10, 1)}, func(context.Context, *znodefence.Tx) error { return nil })
		require.ErrorIs(b.T, err, fencing.ErrUnknownOutcome)
		require.ErrorContains(b.T, err, "the connection broke at each of the last 1000 tries")
		require.NotContains(b.T, err.Error(), "others have moved")
		err = g.Raise(ctx, "r", at(b.T, 20, 0).Token)
		require.ErrorIs(b.T, err, fencing.ErrUnknownOutcome)
		require.ErrorContains(b.T, err, "raise to 0x14: the connection broke at each of the last 1000 tries")
	}, bubble.WithVirtualLimit(2*time.Hour))
}
