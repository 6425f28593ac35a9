package redisfence_test

import (
	"os"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server is the address of a Redis that .ci/redis has started.
func server(t testing.TB) string {
	t.Helper()
	addr := os.Getenv("ZKFENCE_REDIS")
	if addr == "" {
		t.Skip("SKIPPED: ZKFENCE_REDIS is not set; .ci/redis start DIR prints it")
	}
	return addr
}

func connect(t testing.TB, o *redis.Options) (*redis.Client, *redisfence.Guard) {
	t.Helper()
	if o.Addr == "" {
		o.Addr = server(t)
	}
	c := redis.NewClient(o)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	g, err := redisfence.New(c, redisfence.Options{})
	require.NoError(t, err)
	return c, g
}

func at(t testing.TB, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

func lua(t testing.TB, body string) redisfence.Script {
	t.Helper()
	s, err := redisfence.NewScript(body)
	require.NoError(t, err)
	return s
}
