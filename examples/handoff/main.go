// Handoff replays an incident: two workers, one report, and a pause at the worst
// moment. It proves nothing about programs that do not ask a Gate: the lock alone
// prevents nothing here, and is not meant to.
//
// The parent process sets up a report store with a guard before it and starts two
// worker processes that want to write the same report. W1
// gets the lock, reads the report, computes, makes sure that its hold is good,
// and is stopped, as by a long garbage collection or a suspended laptop, until its
// session has expired. W2 gets the lock with a larger token, tells the store, reads
// and publishes. W1 wakes up and, knowing of nothing, sends its write. The store
// refuses it, naming both tokens, and W1 learns from its own clock that it has
// lost.
//
//	go run ./examples/handoff                   an in-memory ZooKeeper of its own
//	go run ./examples/handoff -zk host:2181     a real ensemble
//
// The store is one of
//
//	-store gate       HTTP, with a fencing.Gate and the report in memory; the default
//	-store sqlite     a database in a file, opened by all three; fencing/sqlfence
//	-store postgres   a schema of its own in the database of -postgres; fencing/sqlfence
//	-store file       a file, written by the workers themselves; fencing/filefence
//	-store http       a service behind a handler that judges; fencing/httpfence
//
// and all of it is gone at the end of the run.
//
// It exits with 0 only if the store ends up with W2's report. All that it opens
// is on loopback, but for the ensemble named with -zk and the database with -postgres.
//
// It is a module of its own, for the databases' drivers: who imports the library
// takes in none.
package main

import (
	"context"
	"errors"
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
	if name := os.Getenv(workerEnv); name != "" {
		if err := runWorker(name, os.Stdin, os.Stdout); err != nil {
			os.Exit(1)
		}
		return
	}
	zk := flag.String("zk", "", "servers of a real ensemble, `host:port,…`; without it an in-memory server is started")
	timeout := flag.Duration("timeout", 4*time.Second, "session timeout to ask for, 500ms to 1m; the pause lasts a little longer than what is granted")
	freeze := flag.Bool("freeze", !cast.CanStop, "freeze W1's connection instead of stopping its process")
	store := flag.String("store", "gate", "what keeps the report: `gate`|sqlite|postgres|file|http")
	source := flag.String("postgres", os.Getenv("ZKFENCE_POSTGRES"), "`database` of -store postgres, postgres://user@host:5432/database; defaults to $ZKFENCE_POSTGRES")
	flag.Parse()
	if flag.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "handoff: unexpected argument %q\n", flag.Arg(0))
		os.Exit(2)
	}
	if err := errors.Join(checkTimeout(*timeout), checkStore(*store, *source)); err != nil {
		fmt.Fprintln(os.Stderr, "handoff:", err)
		os.Exit(2)
	}

	interrupted, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := incident{timeout: *timeout, freeze: *freeze, store: *store, source: *source, tl: cast.NewTimeline(os.Stdout)}
	if *zk != "" {
		s.servers = strings.Split(*zk, ",")
	}
	if err := s.run(interrupted); err != nil {
		fmt.Fprintln(os.Stderr, "handoff:", err)
		os.Exit(1)
	}
}

// checkTimeout refuses what makes no story: with less, the steps between two
// looks at the clock take longer than the session lives; with more, nobody stays
// to see its end.
func checkTimeout(d time.Duration) error {
	const least, most = 500 * time.Millisecond, time.Minute
	if d < least || d > most {
		return fmt.Errorf("-timeout %v: must be between %v and %v", d, least, most)
	}
	return nil
}
