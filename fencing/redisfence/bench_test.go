package redisfence_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// BenchmarkSet compares a SET with a guard with one without. Both are one round trip.
func BenchmarkSet(b *testing.B) {
	c, g := connect(b, &redis.Options{})
	require.NoError(b, c.FlushAll(b.Context()).Err())
	key := redisfence.Key("bench", "x")
	b.Run("Bare", func(b *testing.B) {
		for b.Loop() {
			require.NoError(b, c.Set(b.Context(), key, "x", 0).Err())
		}
	})
	token := uint64(1)
	b.Run("Guarded", func(b *testing.B) {
		token++
		next := fencing.NewSequencer(at(b, token, 0).Token)
		for b.Loop() {
			require.NoError(b, g.Set(b.Context(), redisfence.Command{Resource: "bench", Stamp: next.Next()}, key, "x"))
		}
	})
}
