//go:build unix

package filefence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/filefence"
)

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "reports")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	guard, err := filefence.New(dir)
	if err != nil {
		panic(err)
	}
	defer func() { _ = guard.Close() }()
	// A Hold's Token and Next in a program.
	old, _ := fencing.FromUint64(0x200000007)
	newer, _ := fencing.FromUint64(0x20000000b)
	paused, successor := fencing.NewSequencer(old), fencing.NewSequencer(newer)
	publish := func(s fencing.Stamp, text string) error {
		return guard.Publish(ctx, "2026-07.csv", s, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
	}

	fmt.Println(publish(paused.Next(), "draft"))
	fmt.Println(guard.Raise(ctx, "2026-07.csv", newer)) // before it reads
	fmt.Println(publish(successor.Next(), "final"))
	err = publish(paused.Next(), "draft, too late")
	fmt.Println(errors.Is(err, fencing.ErrStale), err)

	text, _ := os.ReadFile(filepath.Join(dir, "2026-07.csv"))
	fmt.Println(string(text))
	// Output:
	// <nil>
	// <nil>
	// <nil>
	// true fencing: resource "2026-07.csv": stale token: presented 0x200000007:2 is older than remembered 0x20000000b:1
	// final
}
