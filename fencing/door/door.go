package door

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Options of a Door. The zero Options have every default.
type Options struct {
	// Settle is for how long after its answer was lost a command can still take
	// effect. Defaults to 0: commands end with the function that runs them, and after
	// a lost answer a later Stamp runs at once. Wrong for a function that gives up
	// waiting and leaves something going on: what that writes lands after the later one.
	Settle time.Duration

	// MaxOutcome is how long an outcome can be to be recorded, in bytes. The
	// repetition of a command with a longer one is told that it was applied, and
	// no more. Defaults to 64 KiB.
	MaxOutcome int

	// MaxOps is how many operation IDs are remembered for each resource. The
	// repetition of one before these runs again. Defaults to 1000.
	//
	// A resource takes at most about MaxOps × MaxOutcome bytes of memory, and of file
	// twice that: 64 MB with the defaults, if every operation has the longest outcome.
	// Where there are many resources and long outcomes, lower one of the two.
	MaxOps int
}

func (o Options) checked() (Options, error) {
	switch {
	case o.Settle < 0:
		return o, fmt.Errorf("door: Options.Settle = %v, want 0 or more", o.Settle)
	case o.MaxOutcome < 0:
		return o, fmt.Errorf("door: Options.MaxOutcome = %d bytes, want 0 for the default, or more", o.MaxOutcome)
	case o.MaxOps < 0:
		return o, fmt.Errorf("door: Options.MaxOps = %d, want 0 for the default, or more", o.MaxOps)
	}
	if o.MaxOutcome == 0 {
		o.MaxOutcome = 64 << 10
	}
	if o.MaxOps == 0 {
		o.MaxOps = 1000
	}
	return o, nil
}

// Door lets commands through to resources. It is safe for concurrent use. New and
// Open make one; the zero Door refuses everything.
type Door struct {
	options Options
	now     func() time.Time // time.Now but in this package's tests

	logging sync.Mutex // held for a line and what it changes
	journal *journal   // nil: the memory ends with the process

	mu     sync.Mutex
	closed bool
	inside sync.WaitGroup // whoever waits for a turn or has one
	rooms  map[string]*room
}

// room is the state of one resource, and the turn to change it.
type room struct {
	// A channel and not a mutex: whoever queues for a slow command must be able to
	// leave when its context ends.
	turn chan struct{}
	// How many wait for the turn or have it, under Door.mu. While there is one the room
	// stays: if it went, the next would find another with a turn of its own, and two
	// commands would run at once.
	inside int
	// Written under Door.mu by whoever has the turn.
	state
	settled time.Time // from then on the pending command has taken effect, or never will
}

var (
	// ErrClosed matches every answer of a Door that has been closed, or was not made
	// by New or Open.
	ErrClosed = errors.New("door: closed")
	errNoRun  = errors.New("door: Do was given no function")
)

// UnsettledError is the answer while a command whose own answer was lost can still
// take effect. Nothing ran; wait for Wait, then send the same again.
type UnsettledError struct {
	Resource string
	Lost     fencing.Stamp // whose answer was lost
	Wait     time.Duration // until it has taken effect, or never will
}

func (e *UnsettledError) Error() string {
	return fmt.Sprintf("door: resource %q: the answer to %s was lost, and it can take effect for another %v: send the same again after that", e.Resource, e.Lost, e.Wait)
}

// New returns a Door whose memory ends with the process, for a resource that does
// too.
func New(o Options) (*Door, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	return &Door{options: o, now: time.Now, rooms: make(map[string]*room)}, nil
}

// Open returns a Door that remembers in the file at path, which is made if it does
// not exist; its directory must. Beside it stands path + ".lock". A file that
// another process has open, or that is damaged, is an error.
func Open(path string, o Options) (*Door, error) {
	d, err := New(o)
	if err != nil {
		return nil, err
	}
	d.journal, err = openJournal(path, func(e entry) {
		r := d.room(e.Resource)
		r.apply(e, d.options.MaxOps)
	})
	if err != nil {
		return nil, err
	}
	for name, r := range d.rooms { // the file can name who was refused as it was written anew
		if r.empty() {
			delete(d.rooms, name)
		}
	}
	// Not the file's size: what is over in it would be taken for what is remembered, and
	// lives too short to double it would let it grow for ever.
	text, err := compact(d.entries())
	if err != nil {
		return nil, errors.Join(err, d.journal.close())
	}
	d.journal.base = int64(len(text))
	for _, r := range d.rooms {
		r.settled = d.now().Add(d.options.Settle) // nobody knows when it was sent
	}
	return d, nil
}

// Durable reports whether the memory outlives the process.
func (d *Door) Durable() bool { return d.journal != nil }

// Options returns what the Door was made with, defaults filled in.
func (d *Door) Options() Options { return d.options }

// Close waits for what is under way, however long that takes, and closes the file.
// Afterwards everything is refused with ErrClosed. Close again returns nil.
func (d *Door) Close() error {
	d.mu.Lock()
	before := d.closed
	d.closed = true
	d.mu.Unlock()
	d.inside.Wait()
	if before || d.journal == nil {
		return nil
	}
	return d.journal.close()
}

// Last returns what is remembered of a resource; the zero Stamp of one that nobody
// has come to. It does not wait.
func (d *Door) Last(resource string) fencing.Stamp {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.rooms[resource]; r != nil {
		return r.last
	}
	return fencing.Stamp{}
}

// room is the resource's, made if there is none. The caller has mu, or is alone.
func (d *Door) room(resource string) *room {
	r := d.rooms[resource]
	if r == nil {
		r = &room{turn: make(chan struct{}, 1), state: state{ops: make(map[string]outcome)}}
		d.rooms[resource] = r
	}
	return r
}

// enter waits for the resource's turn.
func (d *Door) enter(ctx context.Context, resource string) (r *room, leave func(), err error) {
	if err := fencing.ValidateResource(resource); err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	if d.closed || d.rooms == nil {
		d.mu.Unlock()
		return nil, nil, fencing.Named(resource, ErrClosed)
	}
	r = d.room(resource)
	r.inside++
	d.inside.Add(1)
	d.mu.Unlock()
	select {
	case r.turn <- struct{}{}:
		// With both ready, select tosses a coin: a command whose ctx has ended must
		// not run half of the time.
		if ctx.Err() == nil {
			return r, func() { <-r.turn; d.left(r, resource) }, nil
		}
		<-r.turn
	case <-ctx.Done():
	}
	d.left(r, resource)
	return nil, nil, fencing.Named(resource, fmt.Errorf("door: waiting for the turn: %w", fencing.Ended(ctx)))
}

// left takes note that somebody has gone, after the turn was given back. A room of which
// nothing is remembered goes with the last: anybody can come with any name.
func (d *Door) left(r *room, resource string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.inside--; r.inside == 0 && r.empty() {
		delete(d.rooms, resource)
	}
	d.inside.Done()
}

// remember makes e durable, then true. The caller has the turn of the resource.
func (d *Door) remember(r *room, e entry) error {
	d.logging.Lock()
	defer d.logging.Unlock()
	if d.journal != nil {
		if err := d.journal.append(e); err != nil {
			return fencing.Named(e.Resource, err)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	r.apply(e, d.options.MaxOps)
	if d.journal != nil && d.journal.grown() {
		d.journal.rewrite(d.entries())
	}
	return nil
}

// raise is remember for a floor, and nothing where it has not risen.
func (d *Door) raise(r *room, resource string, floor fencing.Stamp) error {
	if floor == r.last {
		return nil
	}
	return d.remember(r, entry{Resource: resource, Last: floor, Pending: r.pending, Lost: r.lost})
}

// entries is all that is remembered. The caller has mu and logging.
func (d *Door) entries() []entry {
	var all []entry
	for name, r := range d.rooms {
		all = append(all, r.entries(name)...)
	}
	return all
}
