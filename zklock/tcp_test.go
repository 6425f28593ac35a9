package zklock_test

import (
	"os"
	"testing"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// overTCP plays a case in real time over TCP: on the in-memory server and, where
// ZKFENCE_ZK names one, on a real one behind a proxy. It is for what virtual
// time cannot show: other processes, memory, and two things in one instant.
func overTCP(t *testing.T, play func(s *scene)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		server := zktest.New(t, zktest.WithTick(200*time.Millisecond), zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute))
		play(&scene{
			Faults: server.Faults, T: t, ctx: t.Context(), path: "/locks/report", timeout: 4 * time.Second, real: true,
			servers: []string{server.Addr()}, expire: server.Expire, operator: server,
		})
	})
	t.Run("real", func(t *testing.T) {
		server := os.Getenv("ZKFENCE_ZK")
		if server == "" {
			t.Skip("SKIPPED: not run against a real server; set ZKFENCE_ZK=host:port to do so")
		}
		really(t, server, play)
	})
}
