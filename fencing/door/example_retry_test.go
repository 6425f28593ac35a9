package door_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
)

// A new owner raises the floor, reads, and writes. Where the outcome is unknown it
// tries again with the same Stamp, a bounded number of times. To write the same report
// twice, one right after the other, is the same as once, and the command says so: the
// retry of another kind of command would not run, for nobody could tell whether it is
// the second time.
func ExampleDoor_Do() {
	ctx := context.Background()
	d, err := door.New(door.Options{}) // with a file (door.Open) where the resource outlives the process
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	device := &device{loses: 1}
	token, _ := fencing.FromUint64(0x200000007) // a Hold's Token and Next in a program
	stamps := fencing.NewSequencer(token)

	if err := d.Raise(ctx, "report", token); err != nil {
		log.Fatal(err)
	}
	read := device.report
	c := door.Command{Resource: "report", Stamp: stamps.Next(), Repeatable: true}
	for range 5 {
		_, err = d.Do(ctx, c, func(context.Context) ([]byte, error) {
			if err := device.write(read + "one line more\n"); err != nil {
				return nil, fmt.Errorf("%w: %w", fencing.ErrUnknownOutcome, err) // it may have been written
			}
			return nil, nil
		})
		if err == nil || errors.Is(err, fencing.ErrDuplicate) || errors.Is(err, fencing.ErrStale) {
			break
		}
		fmt.Println("again, with", c.Stamp)
	}
	switch {
	case err == nil, errors.Is(err, fencing.ErrDuplicate): // an earlier try was applied
		fmt.Print(device.report)
	case errors.Is(err, fencing.ErrStale):
		fmt.Println("there is a newer owner: stop")
	default:
		fmt.Println(err)
	}
	// Output:
	// again, with 0x200000007:1
	// one line more
}

// device keeps a report and checks nothing. The answers to its first writes are lost.
type device struct {
	report string
	loses  int
}

func (d *device) write(report string) error {
	d.report = report
	if d.loses--; d.loses >= 0 {
		return errors.New("no answer")
	}
	return nil
}
