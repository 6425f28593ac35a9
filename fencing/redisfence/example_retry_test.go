package redisfence_test

import (
	"context"
	"errors"
	"log"

	"github.com/redis/go-redis/v9"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// A new owner raises the floor, reads, and writes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times: a fresh one could write
// twice. What else a later try fails with says nothing of the first.
func ExampleGuard_Set() {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer func() { _ = client.Close() }()
	guard, err := redisfence.New(client, redisfence.Options{})
	if err != nil {
		log.Fatal(err)
	}
	write := func(ctx context.Context, token fencing.Token, next func() fencing.Stamp) error { // a Hold's Token and Next
		if err := guard.Raise(ctx, "report", token); err != nil {
			return err
		}
		key := redisfence.Key("report", "text")
		read, err := client.Get(ctx, key).Result()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		c := redisfence.Command{Resource: "report", Stamp: next()}
		for range 5 {
			err = guard.Set(ctx, c, key, read+"one line more\n")
			if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
				break
			}
		}
		if errors.Is(err, fencing.ErrDuplicate) { // an earlier try was applied
			return nil
		}
		return err // one that matches fencing.ErrStale: there is a newer owner, stop
	}
	token, err := fencing.FromUint64(0x200000007)
	if err != nil {
		log.Fatal(err)
	}
	if err := write(context.Background(), token, fencing.NewSequencer(token).Next); err != nil {
		log.Fatal(err)
	}
}
