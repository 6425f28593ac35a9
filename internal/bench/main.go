// Command bench compares what a cycle of Lock and Unlock costs with what its
// requests cost bare, side by side on one server: five rounds in which the
// scenarios take turns, so that a noisy machine disturbs all of them alike, and
// the medians as ratios. Its figures are worth something only as ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

func main() {
	servers := flag.String("zk", "", "host:port,… of a real ensemble; an embedded in-memory server if empty")
	rounds := flag.Int("rounds", 5, "how often each scenario is measured")
	cycles := flag.Int("cycles", 1000, "cycles of a scenario in a round (at least as many as it has contenders)")
	limit := flag.Float64("limit", 0, "fail if an uncontended cycle takes longer than this many times the bare requests; 0: never")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *servers, *rounds, *cycles, *limit); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type sample struct{ perCycle, allocs, bytes float64 }

func run(ctx context.Context, servers string, rounds, cycles int, limit float64) error {
	if rounds < 1 || cycles < 1 {
		return fmt.Errorf("-rounds %d -cycles %d: both must be at least 1", rounds, cycles)
	}
	where := "ZooKeeper at " + servers
	if servers == "" {
		s, err := zktest.Start()
		if err != nil {
			return err
		}
		defer s.Close()
		servers, where = s.Addr(), "the embedded in-memory server (its own work counts in the allocations)"
	}
	b, err := newBed(ctx, strings.Split(servers, ","))
	if err != nil {
		return err
	}
	defer b.close(ctx)

	runs := make([]func(int) error, len(scenarios))
	for i, s := range scenarios {
		if runs[i], err = s.prepare(ctx, b); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := runs[i](max(cycles/10, 1)); err != nil {
			return fmt.Errorf("%s: warm-up: %w", s.name, err)
		}
	}
	samples := make([][]sample, len(scenarios))
	for r := range rounds {
		for i, s := range scenarios {
			fmt.Fprintf(os.Stderr, "\rround %d of %d: %-40s", r+1, rounds, s.name)
			one, err := measure(runs[i], cycles)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			samples[i] = append(samples[i], one)
		}
	}
	fmt.Fprintf(os.Stderr, "\r%60s\r", "")
	ratio := report(where, rounds, cycles, samples)
	if limit > 0 && ratio > limit {
		return fmt.Errorf("an uncontended cycle took %.2f times as long as its requests bare, above the limit of %.2f", ratio, limit)
	}
	return nil
}

func measure(run func(int) error, n int) (sample, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	err := run(n)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	return sample{
		perCycle: float64(took) / float64(n),
		allocs:   float64(after.Mallocs-before.Mallocs) / float64(n),
		bytes:    float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, err
}

// report prints the table and returns the ratio of an uncontended cycle.
func report(where string, rounds, cycles int, samples [][]sample) (uncontended float64) {
	median := func(of func(round int) float64) float64 {
		v := make([]float64, rounds)
		for r := range v {
			v[r] = of(r)
		}
		slices.Sort(v)
		return v[rounds/2]
	}
	bare := samples[slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == baseline })]
	fmt.Printf("%s; medians of %d interleaved rounds of %d cycles\n\n", where, rounds, cycles)
	fmt.Printf("| one cycle | time | ÷ %s | per second | allocations | bytes |\n", baseline)
	fmt.Println("|---|---|---|---|---|---|")
	for i, s := range scenarios {
		t := median(func(r int) float64 { return samples[i][r].perCycle })
		// Round by round: what slows the machine down slows both sides of a ratio.
		ratio := median(func(r int) float64 { return samples[i][r].perCycle / bare[r].perCycle })
		if s.name == ours {
			uncontended = ratio
		}
		fmt.Printf("| %s | %v | %.2f | %.0f | %.0f | %.0f |\n", s.name, time.Duration(t).Round(time.Microsecond), ratio, 1e9/t,
			median(func(r int) float64 { return samples[i][r].allocs }), median(func(r int) float64 { return samples[i][r].bytes }))
	}
	return uncontended
}
