// Singleton is a worker of which any number may run, and one at a time works:
// made to be copied, this file for good and the other two for a start.
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
	"github.com/zkfence/zkfence/zkconn"
)

func main() {
	zk := flag.String("zk", "", "servers, `host:port,…`; without it one in memory, which no other worker shares")
	limit := flag.Duration("for", 0, "end after this time; 0: at Ctrl-C")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	if *limit > 0 {
		time.AfterFunc(*limit, stop)
	}
	if err := run(ctx, ensemble(*zk)); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run works while this process leads. When ctx ends it resigns: the next goes on at once.
func run(ctx context.Context, servers []string) (err error) {
	client, err := zkconn.Dial(ctx, servers, zkconn.WithSessionTimeout(10*time.Second))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close(context.WithoutCancel(ctx))) }()
	e, err := election.New(client, "/singleton/report", hostname())
	if err != nil {
		return err
	}
	return e.Run(ctx, lead) // campaigns again after a loss
}

// lead is over when the term is, or when the job fails, which ends run as well.
func lead(ctx context.Context, t *election.Term) error {
	for {
		if err := t.Ready(ctx, time.Second); err != nil { // waits while Suspect: begin nothing in doubt
			return err
		}
		if err := job(ctx, t.Next()); err != nil {
			return err
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done(): // Ready says why
		}
	}
}
