package door_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

// A printer that prints whatever it is sent, behind a door that outlives the program.
func Example() {
	dir, err := os.MkdirTemp("", "door")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	var first, late fencing.Stamp // as a Hold's Next has them
	for text, s := range map[string]*fencing.Stamp{"0x20000000b:1": &first, "0x200000007:4": &late} {
		if *s, err = fencing.ParseStamp(text); err != nil {
			log.Fatal(err)
		}
	}
	send := func(s fencing.Stamp) {
		d, err := door.Open(filepath.Join(dir, "printer"), door.Options{})
		if err != nil {
			log.Fatal(err)
		}
		defer func() { _ = d.Close() }()
		answer, err := d.Do(ctx, door.Command{Resource: "printer", Stamp: s}, func(context.Context) ([]byte, error) {
			return []byte("one page"), nil
		})
		fmt.Printf("%q %v\n", answer.Outcome, err)
	}
	send(first)
	send(first)
	send(late)
	// Output:
	// "one page" <nil>
	// "one page" fencing: resource "printer": duplicate command: presented 0x20000000b:1, remembered 0x20000000b:1: it has been applied
	// "" fencing: resource "printer": stale token: presented 0x200000007:4 is older than remembered 0x20000000b:1
}
