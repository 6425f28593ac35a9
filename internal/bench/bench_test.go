package main

import (
	"os"
	"strings"
	"testing"

	"github.com/zkfence/zkfence/zktest"
)

// The same scenarios one by one, for profiles and for a quick look. Ratios come
// from the command, which lets them take turns.
func BenchmarkCycle(b *testing.B) {
	servers := os.Getenv("ZKFENCE_ZK")
	if servers == "" {
		servers = zktest.New(b).Addr()
	}
	bed, err := newBed(b.Context(), strings.Split(servers, ","))
	if err != nil {
		b.Fatal(err)
	}
	defer bed.close(b.Context())
	for _, s := range scenarios {
		b.Run(s.name, func(b *testing.B) {
			run, err := s.prepare(b.Context(), bed)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			if err := run(b.N); err != nil {
				b.Fatal(err)
			}
		})
	}
}
