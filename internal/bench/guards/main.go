// Command guards measures what a guard adds to a write: it runs the benchmarks of
// fencing in rounds, in each of which a write with a guard stands beside the same
// write without one, and prints the medians of the rounds' ratios. Databases are
// measured where ZKFENCE_POSTGRES, ZKFENCE_MARIADB and ZKFENCE_REDIS say that there
// are some. The figures are worth something only as ratios.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 5, "how often each is measured")
	each := flag.String("benchtime", "300ms", "how long, or with an x how often, in a round: as go test's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, "github.com/zkfence/zkfence/fencing/...", *rounds, *each); err != nil {
		fmt.Fprintln(os.Stderr, "guards:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, packages string, rounds int, each string) error {
	if rounds < 1 {
		return fmt.Errorf("-rounds %d: must be at least 1", rounds)
	}
	all := comparison{}
	for range rounds {
		printed, err := measure(ctx, packages, each)
		if err != nil {
			return err
		}
		if err := all.add(printed); err != nil {
			return err
		}
	}
	if len(all.rows) == 0 {
		return fmt.Errorf("%s: no benchmark there has a write called Bare to compare with", packages)
	}
	all.print(out, rounds, each)
	return nil
}

// measure runs package after package, since two at a time would measure each other,
// and each benchmark twice: the first opens connections and fills caches, of which the
// bare ones, that stand before the others, would have the most.
func measure(ctx context.Context, packages, each string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "test", "-p", "1", "-run", "^$", "-bench", ".", "-benchtime", each, "-count", "2", packages)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // go test ends what it has started
	cmd.WaitDelay = 10 * time.Second
	var failed bytes.Buffer
	cmd.Stderr = &failed
	printed, err := cmd.Output()
	if err != nil {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("%v: %w\n%s%s", cmd.Args, err, printed, failed.Bytes()))
	}
	return printed, nil
}
