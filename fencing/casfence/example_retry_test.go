package casfence_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence"
)

// A new owner raises the floor, reads, and publishes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times: a fresh one could publish
// twice. What else a later try fails with says nothing of the first.
func ExampleGuard_Publish() {
	ctx := context.Background()
	guard, err := casfence.New(new(casfence.Memory))
	if err != nil {
		panic(err)
	}
	token, _ := fencing.FromUint64(0x200000007) // a Hold's Token and Next in a program
	stamps := fencing.NewSequencer(token)

	if err := guard.Raise(ctx, "report", token); err != nil {
		panic(err)
	}
	read, _, err := guard.Get(ctx, "report")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	stamp := stamps.Next()
	for range 5 {
		err = guard.Publish(ctx, "report", stamp, func(context.Context) ([]byte, error) {
			return append(read, "one line more"...), nil
		})
		if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, fencing.ErrDuplicate): // an earlier try was applied
		content, last, _ := guard.Get(ctx, "report")
		fmt.Printf("%s: %s\n", last, content)
	case errors.Is(err, fencing.ErrStale):
		fmt.Println("there is a newer owner: stop")
	default:
		fmt.Println(err)
	}
	// Output: 0x200000007:1: one line more
}
