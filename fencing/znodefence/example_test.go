package znodefence_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// A report in a znode, written under a lock in the same ensemble.
func Example() {
	server, err := zktest.Start() // stands for your ensemble
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()
	if err := server.Create("/report", []byte("draft")); err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	client, err := zkconn.Dial(ctx, []string{server.Addr()}, zkconn.WithSessionTimeout(10*time.Second))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = client.Close(ctx) }()
	guard, err := znodefence.New(client, "/guards")
	if err != nil {
		log.Fatal(err)
	}
	publish := func(h *zklock.Hold, text string) error {
		return guard.Do(ctx, znodefence.Command{Resource: "report", Stamp: h.Next(), Owner: h}, func(ctx context.Context, tx *znodefence.Tx) error {
			_, read, err := tx.Get(ctx, "/report")
			if err != nil {
				return err
			}
			tx.Set("/report", []byte(text), read)
			return nil
		})
	}
	mutex, err := zklock.New(client, "/locks/report")
	if err != nil {
		log.Fatal(err)
	}
	old, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("holder:", publish(old, "first"))
	if err := old.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("its node is gone:", errors.Is(publish(old, "late"), znodefence.ErrOwnerGone))
	next, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	if err := guard.Raise(ctx, "report", next.Token()); err != nil { // before it reads
		log.Fatal(err)
	}
	fmt.Println("there is a newer owner:", errors.Is(publish(old, "late"), fencing.ErrStale))
	fmt.Println("next holder:", publish(next, "second"))
	// Output:
	// holder: <nil>
	// its node is gone: true
	// there is a newer owner: true
	// next holder: <nil>
}
