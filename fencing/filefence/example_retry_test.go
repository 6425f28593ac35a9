//go:build unix

package filefence_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/filefence"
)

// A new owner raises the floor, reads, and publishes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times: a fresh one could publish
// twice. What else a later try fails with says nothing of the first.
func ExampleGuard_Publish() {
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
	token, _ := fencing.FromUint64(0x200000007) // a Hold's Token and Next in a program
	stamps := fencing.NewSequencer(token)

	if err := guard.Raise(ctx, "report.csv", token); err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "report.csv")
	read, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	stamp := stamps.Next()
	for range 5 {
		err = guard.Publish(ctx, "report.csv", stamp, func(w io.Writer) error {
			_, err := fmt.Fprintf(w, "%sone line more\n", read)
			return err
		})
		if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
			break
		}
	}
	switch {
	case err == nil, errors.Is(err, fencing.ErrDuplicate): // an earlier try was applied
		content, _ := os.ReadFile(path)
		fmt.Print(string(content))
	case errors.Is(err, fencing.ErrStale):
		fmt.Println("there is a newer owner: stop")
	default:
		fmt.Println(err)
	}
	// Output: one line more
}
