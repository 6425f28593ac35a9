// Leader shows an election: candidates that are processes of their own, of which
// one at a time leads and commands, and a ledger that takes down what it is told
// to, unless a newer leader has been there.
//
//	go run ./examples/leader                   an in-memory ZooKeeper of its own
//	go run ./examples/leader -zk host:2181     a real ensemble
//	go run ./examples/leader -script           a story, and a verdict
//
// On a terminal of 80 columns and 22 lines it draws a table. It does what is typed,
// when Enter is: "p 2" pauses the second candidate, "r 2" lets it go on, "k 2" kills
// it as a crash does, "a" adds one, "q" quits. "p" and "k" alone mean the leader, "r"
// alone the first that is paused. Signals from elsewhere do the same, at a moment of their own: kill -STOP
// with a pid from the table. Elsewhere it prints what happens,
// line by line.
//
// A leader that is paused is stopped at the worst moment, after it has checked
// that it leads and before it sends its command. The others notice when its
// session has ended; when it goes on, knowing of nothing, its command reaches the
// ledger late and is refused. -script does this by itself. At the end the
// ledger's history is judged: leader exits with 1 if accepted stamps have gone
// backwards, and after -script also if nobody took over, or no late command was
// refused.
//
// The election alone prevents none of this. All that leader opens is on loopback,
// but for the ensemble named with -zk.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/zkfence/zkfence/examples/internal/cast"
)

func main() {
	if name := os.Getenv(candidateEnv); name != "" {
		// A Ctrl-C reaches all processes of a terminal. It is the parent's to act on,
		// which ends us by our input.
		signal.Ignore(os.Interrupt, syscall.SIGTERM)
		if err := runCandidate(name, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	p := play{out: os.Stdout}
	zk := flag.String("zk", "", "servers of a real ensemble, `host:port,…`; without it an in-memory server is started")
	flag.IntVar(&p.candidates, "n", 3, "candidates to begin with")
	flag.DurationVar(&p.timeout, "timeout", 4*time.Second, "session timeout to ask for, 500ms to 1m")
	flag.DurationVar(&p.limit, "for", 10*time.Minute, "how long it may take at most")
	flag.BoolVar(&p.script, "script", false, "pause the leader, show the takeover, resume it, and judge the ledger")
	flag.BoolVar(&p.freeze, "freeze", !cast.CanStop, "pause by freezing connections instead of stopping processes")
	flag.Usage = func() {
		_, _ = fmt.Fprintf(flag.CommandLine.Output(), "Leader shows an election, to watch and to disturb. Without -script it does what is typed:\n  %s;\n  %s.\n", helpKeys, helpAlone)
		flag.PrintDefaults()
	}
	flag.Parse()
	if err := p.check(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(2)
	}
	if *zk != "" {
		p.servers = strings.Split(*zk, ",")
	}
	if !p.script {
		p.keys = os.Stdin
	}
	switch size, yes := terminal(os.Stdout); {
	case yes && !size.fits():
		p.small = size
	case yes:
		p.screen = newScreen(os.Stdout, size, os.Getenv("NO_COLOR") == "", !p.script)
	}

	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := p.run(interrupted); err != nil {
		fmt.Fprintln(os.Stderr, "leader:", err)
		os.Exit(1)
	}
}

// check refuses what makes no play.
func (p *play) check(args []string) error {
	const least, longest = 500 * time.Millisecond, time.Minute
	switch {
	case len(args) > 0:
		return fmt.Errorf("unexpected argument %q", args[0])
	case p.timeout < least || p.timeout > longest:
		return fmt.Errorf("-timeout %v: must be between %v and %v", p.timeout, least, longest)
	case p.candidates < 1 || p.candidates > most:
		return fmt.Errorf("-n %d: must be between 1 and %d", p.candidates, most)
	case p.script && p.candidates < 2:
		return fmt.Errorf("-n %d: with -script somebody must be there to take over", p.candidates)
	case p.limit <= 0:
		return fmt.Errorf("-for %v: must be above 0", p.limit)
	}
	return nil
}
