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

// faulty starts a ZooKeeper in memory that an example can break, and a client of
// it.
func faulty(ctx context.Context) (*zktest.Server, *zkconn.Client) {
	server, err := zktest.Start()
	if err != nil {
		log.Fatal(err)
	}
	client, err := zkconn.Dial(ctx, []string{server.Addr()}, zkconn.WithSessionTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	return server, client
}

// The loop of a worker that should work whenever it owns the lock, for as long
// as it lives. It stops when it has lost and queues up again; what it had on its
// way then is refused by the store, once there is a new owner.
func ExampleMutex_Do_loop() {
	ctx := context.Background()
	server, client := faulty(ctx)
	defer server.Close()
	store, stored := fencing.NewGate(fencing.Stamp{}), ""

	mutex, err := zklock.New(client, "/locks/reports")
	if err != nil {
		log.Fatal(err)
	}
	term := 0
	work := func(ctx context.Context, hold *zklock.Hold) error {
		term++
		// Before it reads what it will build on, a new owner has older ones refused.
		if err := store.Raise(hold.Token()); err != nil {
			return err
		}
		for month := 7; month <= 9; month++ {
			if term == 1 && month == 8 {
				server.ExpireAll() // an outage that outlasts the session
				<-ctx.Done()       // as would a request that is given ctx
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			text := fmt.Sprintf("month %d, written in term %d", month, term)
			if err := store.Admit(ctx, hold.Next(), func() error { stored = text; return nil }); err != nil {
				return err
			}
			fmt.Println(text)
		}
		return nil
	}
	for {
		err := mutex.Do(ctx, work)
		if errors.Is(err, zklock.ErrLost) {
			fmt.Println("lost; queueing up again")
			continue
		}
		fmt.Println("done:", err)
		break
	}
	fmt.Println("stored:", stored)
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// month 7, written in term 1
	// lost; queueing up again
	// month 7, written in term 2
	// month 8, written in term 2
	// month 9, written in term 2
	// done: <nil>
	// stored: month 9, written in term 2
}

// Lock is for work that is no function call. Its context bounds the wait and
// never the Hold. Ready keeps a step from starting that has no time to finish; it
// makes no write safe, which the Stamp does.
func ExampleMutex_Lock() {
	ctx := context.Background()
	server, client := faulty(ctx)
	defer server.Close()
	store, stored := fencing.NewGate(fencing.Stamp{}), ""

	mutex, err := zklock.New(client, "/locks/reports")
	if err != nil {
		log.Fatal(err)
	}
	wait, cancel := context.WithTimeout(ctx, 5*time.Second)
	hold, err := mutex.Lock(wait)
	cancel()
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"July: 42", "August: 43"} {
		if err := hold.Ready(ctx, 2*time.Second); err != nil {
			log.Fatal(err) // over, or never that much time
		}
		if err := store.Admit(hold.Context(), hold.Next(), func() error { stored = text; return nil }); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(stored)
	fmt.Println(hold.Unlock(ctx), hold.State(), context.Cause(hold.Context()))
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// August: 43
	// <nil> Idle zklock: released
}

// What a loss looks like from everywhere, and what becomes of a write that was
// on its way.
func ExampleLostError() {
	ctx := context.Background()
	server, client := faulty(ctx)
	defer server.Close()
	store := fencing.NewGate(fencing.Stamp{})

	mutex, err := zklock.New(client, "/locks/reports")
	if err != nil {
		log.Fatal(err)
	}
	old, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	late := old.Next()
	if err := server.Delete("/locks/reports"); err != nil { // an operator's mistake
		log.Fatal(err)
	}
	<-old.Context().Done()

	var lost *zklock.LostError
	fmt.Println(errors.As(context.Cause(old.Context()), &lost))
	fmt.Println(lost.Path, lost.Reason, errors.Is(lost, zklock.ErrLost))
	fmt.Println(old.Remaining() <= 0, errors.Is(old.Ready(ctx, 0), lost), errors.Is(old.Unlock(ctx), lost))

	current, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	err = store.Admit(ctx, current.Next(), func() error { return nil })
	fmt.Println("the new owner's write:", err)
	err = store.Admit(ctx, late, func() error { return nil })
	fmt.Println("the late write is stale:", errors.Is(err, fencing.ErrStale))
	if err := client.Close(ctx); err != nil {
		log.Fatal(err)
	}
	// Output:
	// true
	// /locks/reports node deleted true
	// true true true
	// the new owner's write: <nil>
	// the late write is stale: true
}
