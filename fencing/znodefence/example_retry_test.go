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

// A new owner raises the floor, reads within its command, and writes. Where the outcome
// is unknown it tries again with the same Stamp, a bounded number of times: a fresh one
// could write twice. What else a later try fails with says nothing of the first.
func ExampleGuard_Do() {
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
	mutex, err := zklock.New(client, "/locks/report")
	if err != nil {
		log.Fatal(err)
	}
	write := func(ctx context.Context, h *zklock.Hold) error {
		if err := guard.Raise(ctx, "report", h.Token()); err != nil {
			return err
		}
		c := znodefence.Command{Resource: "report", Stamp: h.Next(), Owner: h}
		var err error
		for range 5 {
			err = guard.Do(ctx, c, func(ctx context.Context, tx *znodefence.Tx) error {
				text, read, err := tx.Get(ctx, "/report")
				tx.Set("/report", append(text, ", and final"...), read)
				return err
			})
			if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
				break
			}
		}
		if errors.Is(err, fencing.ErrDuplicate) { // an earlier try was applied
			return nil
		}
		return err // one that matches fencing.ErrStale: there is a newer owner, stop
	}
	hold, err := mutex.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(write(ctx, hold))
	fmt.Println(hold.Unlock(ctx))
	// Output:
	// <nil>
	// <nil>
}
