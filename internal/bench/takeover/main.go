// Command takeover measures how long nobody leads when a leader resigns with two
// candidates behind it, in bare writes on the same server, and how much longer
// when a thousand observers on ten Clients of another process watch: rounds in
// which the three take turns, so that a noisy machine disturbs all of them alike,
// and the medians of the rounds' ratios. The figures are worth something only as
// ratios.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/bench/internal/figures"
	"github.com/zkfence/zkfence/zktest"
)

func main() {
	servers := flag.String("zk", "", "host:port,… of a real ensemble; an embedded in-memory server if empty")
	rounds := flag.Int("rounds", 5, "how often each is measured")
	takeovers := flag.Int("takeovers", 50, "takeovers in a round")
	delay := flag.Duration("delay", 500*time.Microsecond, "how long everything is under way between clients and server, each way; 0: as the loopback")
	trips := flag.Float64("trips", 0, "fail if a takeover takes longer than this many bare writes; 0: never")
	slower := flag.Float64("slower", 0, "fail if observers make a takeover take longer than this many times what it takes without; 0: never")
	watch := flag.Bool("observe", false, "only observe until stdin ends: what the command starts itself as")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *watch {
		err = observe(*servers)
	} else {
		err = run(ctx, *servers, *rounds, *takeovers, *delay, *trips, *slower)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "takeover:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, servers string, rounds, takeovers int, delay time.Duration, trips, slower float64) (err error) {
	if rounds < 1 || takeovers < 1 {
		return fmt.Errorf("-rounds %d -takeovers %d: both must be at least 1", rounds, takeovers)
	}
	where := "ZooKeeper at " + servers
	if servers == "" {
		s, err := zktest.Start()
		if err != nil {
			return err
		}
		defer s.Close()
		servers, where = s.Addr(), "the embedded in-memory server"
	}
	addrs := strings.Split(servers, ",")
	for i, addr := range addrs {
		if delay <= 0 {
			break
		}
		l, err := newLink(addr, delay)
		if err != nil {
			return err
		}
		defer func() { _ = l.close() }() // after those who use it
		addrs[i] = l.Addr().String()
	}
	f, err := newField(ctx, addrs)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.close(ctx); err == nil {
			err = e
		}
	}()

	measured := [...]struct {
		name string
		run  func(context.Context, int) (time.Duration, error)
		took []float64
	}{
		{name: "bare write", run: f.write},
		{name: "takeover, 3 candidates", run: f.takeOver},
		{name: fmt.Sprintf("the same, %d observers on %d Clients", observers, observing), run: f.takeOverObserved},
	}
	for r := range rounds + 1 { // the first warms up
		for k := range measured {
			m := &measured[(r+k)%len(measured)]
			took, err := m.run(ctx, takeovers)
			if err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			if r > 0 {
				m.took = append(m.took, float64(took))
			}
		}
	}
	inTrips, inCalm := figures.Ratio(measured[1].took, measured[0].took), figures.Ratio(measured[2].took, measured[1].took)
	fmt.Printf("%s, %v away; medians of %d interleaved rounds of %d takeovers, each round's figure a median too\n\n", where, delay, rounds, takeovers)
	fmt.Println("| | time | ÷ bare write | ÷ takeover |")
	fmt.Println("|---|---|---|---|")
	for _, m := range measured {
		fmt.Printf("| %s | %v | %.2f | %.2f |\n", m.name, time.Duration(figures.Median(m.took)).Round(time.Microsecond), figures.Ratio(m.took, measured[0].took), figures.Ratio(m.took, measured[1].took))
	}
	if trips > 0 && inTrips > trips {
		return fmt.Errorf("a takeover took %.2f bare writes, above the limit of %.2f", inTrips, trips)
	}
	if slower > 0 && inCalm > slower {
		return fmt.Errorf("observers made a takeover take %.2f times as long, above the limit of %.2f", inCalm, slower)
	}
	return nil
}
