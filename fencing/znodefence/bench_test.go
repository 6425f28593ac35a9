package znodefence_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// BenchmarkWrite compares read and write with a guard with the same without one.
func BenchmarkWrite(b *testing.B) {
	server, err := zktest.Start()
	require.NoError(b, err)
	defer server.Close()
	require.NoError(b, server.Create(report, nil))
	c, err := zkconn.Dial(b.Context(), []string{server.Addr()}, zkconn.WithSessionTimeout(10*time.Second))
	require.NoError(b, err)
	defer func() { require.NoError(b, c.Close(context.WithoutCancel(b.Context()))) }()
	s, err := c.Session(b.Context())
	require.NoError(b, err)
	trips := func() int {
		return server.Count(zktest.OpGetData) + server.Count(zktest.OpSetData) + server.Count(zktest.OpMulti)
	}
	b.Run("Bare", func(b *testing.B) {
		before, n := trips(), 0
		for b.Loop() {
			n++
			_, err := zkconn.Call(b.Context(), s, func(c *zk.Conn) (*zk.Stat, error) {
				_, stat, err := c.Get(report)
				if err != nil {
					return nil, err
				}
				return c.Set(report, []byte("x"), stat.Version)
			})
			require.NoError(b, err)
		}
		b.ReportMetric(float64(trips()-before)/float64(n), "trips/op")
	})
	b.Run("Guarded", func(b *testing.B) {
		g, err := znodefence.New(c, "/guards")
		require.NoError(b, err)
		token, err := fencing.FromUint64(uint64(server.Zxid()))
		require.NoError(b, err)
		require.NoError(b, g.Raise(b.Context(), "r", token))
		next := fencing.NewSequencer(token)
		before, n := trips(), 0
		for b.Loop() {
			n++
			require.NoError(b, g.Do(b.Context(), znodefence.Command{Resource: "r", Stamp: next.Next()}, func(ctx context.Context, tx *znodefence.Tx) error {
				_, read, err := tx.Get(ctx, report)
				tx.Set(report, []byte("x"), read)
				return err
			}))
		}
		b.ReportMetric(float64(trips()-before)/float64(n), "trips/op")
	})
}
