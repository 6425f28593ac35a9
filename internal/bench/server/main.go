// Command server compares what requests cost at zktest with what they cost at a
// real ZooKeeper, side by side: rounds in which the servers take turns, so that
// a noisy machine disturbs all of them alike, and the medians of the rounds'
// ratios.
//
// zktest is measured twice: in this process, as tests use it, where it shares a
// heap and a scheduler with the clients, and in a process of its own, as the
// real one has. The clients are as bare as can be, one request at a time on
// each connection. The figures are worth something only as ratios.
//
// The limit is for zktest in a process of its own, and for one client of it in
// this one. Where many clients and zktest are one process and the machine is
// busy, the real server has a second process's share of it: that figure is
// printed and says as much about the machine.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/bench/internal/figures"
	"github.com/zkfence/zkfence/zktest"
)

func main() {
	real := flag.String("zk", "", "host:port of the real server (must be given)")
	rounds := flag.Int("rounds", 5, "how often each scenario is measured")
	requests := flag.Int("requests", 2000, "requests of a scenario in a round, over all connections")
	limit := flag.Float64("limit", 0, "fail if zktest takes longer than this many times what the real server takes; 0: never")
	serve := flag.Bool("serve", false, "only run zktest until stdin ends: what the command starts itself as")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := error(nil)
	if *serve {
		err = child()
	} else {
		err = run(ctx, *real, *rounds, *requests, *limit)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// child serves until its parent closes the pipe, also by dying.
func child() error {
	s, err := zktest.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Println(s.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// spawn starts zktest in a process of its own. stop ends it and waits.
func spawn(ctx context.Context) (addr string, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() error {
		_ = in.Close() // it ends by this; Wait says whether it did so well
		return cmd.Wait()
	}
	addr, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = stop() // that it said nothing is the error to tell
		return "", nil, fmt.Errorf("zktest in a process of its own: %w", err)
	}
	return strings.TrimSpace(addr), stop, nil
}

func run(ctx context.Context, real string, rounds, requests int, limit float64) (err error) {
	if real == "" || rounds < 1 || requests < 1 {
		return fmt.Errorf("-zk %q -rounds %d -requests %d: a server, and at least 1 of each", real, rounds, requests)
	}
	s, err := zktest.Start()
	if err != nil {
		return err
	}
	defer s.Close()
	alone, stop, err := spawn(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if e := stop(); err == nil {
			err = e
		}
	}()

	servers := []string{real, s.Addr(), alone}
	fmt.Printf("time of a request, medians of %d interleaved rounds of %d requests\n\n", rounds, requests)
	fmt.Println("| request | connections | real | zktest, in process | ÷ real | zktest, own process | ÷ real |")
	fmt.Println("|---|---|---|---|---|---|---|")
	var slow []string
	for _, sc := range scenarios {
		for _, conns := range []int{1, 16} {
			took, err := measure(ctx, sc, servers, conns, rounds, requests)
			if err != nil {
				return fmt.Errorf("%s, %d connections: %w", sc.name, conns, err)
			}
			here, own := figures.Ratio(took[1], took[0]), figures.Ratio(took[2], took[0])
			fmt.Printf("| %s | %d | %v | %v | %.2f | %v | %.2f |\n", sc.name, conns,
				micros(took[0]), micros(took[1]), here, micros(took[2]), own)
			worst := own
			if conns == 1 {
				worst = max(here, own)
			}
			if limit > 0 && worst > limit {
				slow = append(slow, fmt.Sprintf("%s over %d connections (%.2f)", sc.name, conns, worst))
			}
		}
	}
	if len(slow) > 0 {
		return fmt.Errorf("above %.2f times the real server's time: %s", limit, strings.Join(slow, ", "))
	}
	return nil
}

// measure returns the time of a request at each server, round by round.
func measure(ctx context.Context, sc scenario, servers []string, conns, rounds, requests int) ([][]float64, error) {
	took := make([][]float64, len(servers))
	beds := make([]*bed, len(servers))
	for i, addr := range servers {
		b, err := newBed(addr, conns)
		if err != nil {
			return nil, err
		}
		defer b.close()
		beds[i] = b
		// A server that compiles as it runs has to be warm.
		if _, err := b.run(sc, requests); err != nil {
			return nil, err
		}
	}
	for r := range rounds {
		for k := range servers {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			i := (r + k) % len(servers)
			d, err := beds[i].run(sc, requests)
			if err != nil {
				return nil, err
			}
			took[i] = append(took[i], float64(d)/float64(requests))
		}
	}
	return took, nil
}

func micros(v []float64) time.Duration {
	return time.Duration(figures.Median(v)).Round(100 * time.Nanosecond)
}
