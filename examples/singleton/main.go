// Singleton is a worker of which any number may run, and one at a time works:
// made to be copied, this file for good and the others for a start.
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
)

func main() {
	zk := flag.String("zk", "", "servers, `host:port,…`; without it one in memory, which no other worker shares")
	limit := flag.Duration("for", 0, "end after this time; 0: at Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	if *limit > 0 {
		time.AfterFunc(*limit, stop)
	}
	if err := run(ctx, ensemble(*zk)); err != nil {
		log.Fatal(err)
	}
}

// run works while this process leads. When ctx ends it resigns: the next goes on at once.
func run(ctx context.Context, servers []string) (err error) {
	client, err := dial(ctx, servers)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hangUp(client)) }()
	e, err := election.New(client, "/singleton/report", hostname(), zklock.WithTrace(told()))
	if err != nil {
		return err
	}
	return unless(ctx, e.Run(ctx, lead)) // campaigns again after a loss
}

// lead is over when the term is, or when the job fails, which ends run as well.
func lead(ctx context.Context, t *election.Term) error {
	err := t.Ready(ctx, time.Second)
	for ; err == nil; err = t.Ready(ctx, time.Second) { // waits while Suspect: begin nothing in doubt
		if err = job(ctx, t.Next()); err != nil {
			break
		}
	}
	if errors.Is(err, fencing.ErrStale) {
		loss(ctx) // a later term exists: await this one's end, and Run campaigns again
	}
	return err
}
