package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each write is compared with the bare one beside it and of the same round; what
// has no bare one beside it is left out, and so is a first measurement of two.
func TestEachIsComparedWithTheBareOneBesideIt(t *testing.T) {
	c := comparison{}
	for _, printed := range []string{`goos: linux
pkg: example.org/fencing/a
BenchmarkWrite/x/Guarded-2 	 10	 100 ns/op	 2.0 trips/op
BenchmarkWrite/x/Guarded-2 	 10	 8000 ns/op	 2.0 trips/op
BenchmarkWrite/x/Bare-2    	 10	 90000 ns/op
BenchmarkWrite/x/Bare-2    	 10	 4000 ns/op
BenchmarkWrite/y/Bare      	 10	 1000 ns/op
BenchmarkWrite/y/Guarded   	 10	 1500.0 ns/op
BenchmarkCheck-2           	 10	 3.5 ns/op
pkg: example.org/fencing/b
BenchmarkWrite/x/Guarded-2 	 10	 9 ns/op
PASS
`, `pkg: example.org/fencing/a
BenchmarkWrite/x/Bare-2    	 10	 10000 ns/op
BenchmarkWrite/x/Guarded-2 	 10	 40000 ns/op
`, `pkg: example.org/fencing/a
BenchmarkWrite/x/Bare-2    	 10	 10000 ns/op
BenchmarkWrite/x/Guarded-2 	 10	 90000 ns/op
`} {
		require.NoError(t, c.add([]byte(printed)))
	}
	var out bytes.Buffer
	c.print(&out, 3, "1s")
	require.Equal(t, `medians of 3 rounds of 1s

| write | without a guard | with it | ÷ without |
|---|---|---|---|
| a, Write/x | 10µs | Guarded | 4.00 |
| a, Write/y | 1µs | Guarded | 1.50 |
`, out.String())
}

// The benchmarks are found by the names that they have.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, "github.com/zkfence/zkfence/fencing/filefence", 1, "1x"))
	require.Contains(t, out.String(), "| filefence, Publish | ")
	require.ErrorContains(t, run(t.Context(), &out, "github.com/zkfence/zkfence/fencing/internal/pause", 1, "1x"), "no benchmark there")
	require.ErrorContains(t, run(t.Context(), &out, "github.com/zkfence/zkfence/nothing", 1, "1x"), "nothing")
	require.ErrorContains(t, run(t.Context(), &out, "", 0, "1x"), "-rounds 0")
}
