package zklock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// connect starts a ZooKeeper in memory for an example.
func connect() (c *zkconn.Client, stop func()) {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	c, err = zkconn.Dial(context.Background(), []string{server.Addr()}, zkconn.WithSessionTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		if err := c.Close(context.Background()); err != nil {
			log.Print(err)
		}
		server.Close()
	}
}

// A job that one process at a time may do, and a resource that refuses whoever
// comes late.
func ExampleMutex_Do() {
	client, stop := connect()
	defer stop()
	report := fencing.NewGate(fencing.Stamp{}) // stands for the resource, which checks stamps itself

	m, err := zklock.New(client, "/locks/report")
	if err != nil {
		log.Fatal(err)
	}
	err = m.Do(context.Background(), func(ctx context.Context, h *zklock.Hold) error {
		return report.Admit(ctx, h.Next(), func() error {
			fmt.Println("published")
			return nil
		})
	})
	fmt.Println(err)
	// Output:
	// published
	// <nil>
}

// A hold that was lost still stamps its commands; the resource refuses them.
func ExampleHold_Next() {
	client, stop := connect()
	defer stop()
	report := fencing.NewGate(fencing.Stamp{})
	publish := func(ctx context.Context, h *zklock.Hold) error {
		return report.Admit(ctx, h.Next(), func() error { return nil })
	}
	ctx := context.Background()

	m, err := zklock.New(client, "/locks/report", zklock.WithMaxHold(100*time.Millisecond))
	if err != nil {
		log.Fatal(err)
	}
	old, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	next, err := m.Lock(ctx) // waits until the first hold is over
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("new holder:", publish(ctx, next))
	fmt.Println("old holder is stale:", errors.Is(publish(ctx, old), fencing.ErrStale))
	fmt.Println("and knows why:", errors.Is(context.Cause(old.Context()), zklock.ErrMaxHold))
	// Output:
	// new holder: <nil>
	// old holder is stale: true
	// and knows why: true
}

// TryLock does not wait for others.
func ExampleMutex_TryLock() {
	client, stop := connect()
	defer stop()
	m, err := zklock.New(client, "/locks/report")
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	h, err := m.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	_, err = m.TryLock(ctx)
	fmt.Println(errors.Is(err, zklock.ErrLocked))
	fmt.Println(h.Unlock(ctx))
	// Output:
	// true
	// <nil>
}
