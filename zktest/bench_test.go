package zktest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// BenchmarkCreateListDelete is one client's three requests, one after the
// other; with ZKFENCE_ZK set, a real server's as well.
func BenchmarkCreateListDelete(b *testing.B) {
	cycle := func(b *testing.B, addr string) {
		c := connectRaw(b, addr)
		c.must(wire.OpCreate, create("/zkfence-bench", "", 0, open...))
		b.ReportAllocs()
		for b.Loop() {
			path := c.must(wire.OpCreate, create("/zkfence-bench/_c_0123456789abcdef-lock-", "", 3, open...)).path()
			c.must(wire.OpGetChildren, watched("/zkfence-bench", false))
			c.must(wire.OpDelete, versioned(path, -1))
		}
		c.must(wire.OpDelete, versioned("/zkfence-bench", -1))
		c.must(wire.OpCloseSession, nil)
	}
	b.Run("zktest", func(b *testing.B) {
		s, err := zktest.Start()
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		cycle(b, s.Addr())
	})
	if real, _, _ := strings.Cut(os.Getenv("ZKFENCE_ZK"), ","); real != "" {
		b.Run("real", func(b *testing.B) { cycle(b, real) })
	}
}
