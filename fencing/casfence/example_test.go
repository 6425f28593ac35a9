package casfence_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/casfence"
)

func Example() {
	ctx := context.Background()
	guard, err := casfence.New(new(casfence.Memory)) // casfence/s3 has one for buckets
	if err != nil {
		panic(err)
	}
	// A Hold's Token and Next in a program.
	old, _ := fencing.FromUint64(0x200000007)
	newer, _ := fencing.FromUint64(0x20000000b)
	paused, successor := fencing.NewSequencer(old), fencing.NewSequencer(newer)
	publish := func(s fencing.Stamp, text string) error {
		return guard.Publish(ctx, "reports/2026-07.csv", s, func(context.Context) ([]byte, error) { return []byte(text), nil })
	}

	fmt.Println(publish(paused.Next(), "draft"))
	fmt.Println(guard.Raise(ctx, "reports/2026-07.csv", newer)) // before it reads
	read, _, _ := guard.Get(ctx, "reports/2026-07.csv")
	fmt.Println(publish(successor.Next(), string(read)+", finished by the successor"))
	err = publish(paused.Next(), "draft, too late")
	fmt.Println(errors.Is(err, fencing.ErrStale), err)

	content, last, _ := guard.Get(ctx, "reports/2026-07.csv")
	fmt.Println(string(content), last)
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// true fencing: resource "reports/2026-07.csv": stale token: presented 0x200000007:2 is older than remembered 0x20000000b:1
	// draft, finished by the successor 0x20000000b:1
}
