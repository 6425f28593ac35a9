package casfence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// Listed is a key that a SweepStore has.
type Listed struct {
	Key      string
	Modified time.Time // by the store's clock
}

// SweepStore is a Store whose objects can be removed. Memory, Files and s3.Store are.
type SweepStore interface {
	Store

	// List returns the keys that begin with prefix and were there when it began; it
	// may lack what came later.
	List(ctx context.Context, prefix string) ([]Listed, error)

	// Delete removes a key. One that is not there is no error.
	Delete(ctx context.Context, key string) error
}

// errSwept: what this command has deposited may have been removed.
var errSwept = errors.New("casfence: swept meanwhile")

// Sweep removes the objects under name that no pointer names and that are older than
// olderThan, and returns how many. It is for any program at any time, beside writers
// and other sweeps; it needs no Stamp, for it changes neither content nor what is
// remembered. An error matching errors.ErrUnsupported: the store is no SweepStore.
//
// It never removes what the pointer names, nor what it will come to name: that depends
// on no clock, so an olderThan of 0 is safe for writers. They pay for it: one that has
// begun before a sweep writes its content once more. A reader between pointer and
// object looks again. An olderThan of more than a command takes makes both rare, if
// this machine's clock and the store's agree.
//
// After an error some may be removed, and all the rest is as it was.
func (g *Guard) Sweep(ctx context.Context, name string, olderThan time.Duration) (removed int, err error) {
	if err := g.begin(ctx, name); err != nil {
		return 0, err
	}
	if olderThan < 0 {
		return 0, fmt.Errorf("casfence: sweep %q: olderThan is %s, want 0 or more", name, olderThan)
	}
	s, ok := g.store.(SweepStore)
	if !ok {
		return 0, fmt.Errorf("casfence: sweep %q: %T has no List and Delete: %w", name, g.store, errors.ErrUnsupported)
	}
	// The invariant: what is removed is never named by the pointer again. A writer may
	// have read the pointer and written its object, and be about to move the pointer:
	//
	//	W  reads the pointer, version v; writes the object o
	//	S  lists o, old enough, and named by no pointer
	//	S  removes o
	//	W  moves the pointer from v to o: it names nothing, and what it named is lost
	//
	// So S lists first, then moves the pointer and marks it, and only then removes:
	//
	//	S  lists o; moves the pointer from v to v', with a mark of this sweep
	//	W  finds v gone; by the mark it knows that o may be gone too, and writes its
	//	   content under a new key, which S cannot have listed
	//	S  removes o
	//
	// Had W come before the mark, then S would have seen that the pointer names o. A
	// move that was lost on its way is from a version that is gone.
	keys, err := s.List(ctx, "objects/"+segment(name)+"/")
	if err != nil {
		return 0, fmt.Errorf("casfence: sweep %q: %w", name, err)
	}
	p, err := g.load(ctx, name)
	if err != nil {
		return 0, err
	}
	limit := time.Now().Add(-olderThan)
	var old []string
	for _, k := range keys {
		if k.Key != p.Object && !k.Modified.After(limit) {
			old = append(old, k.Key)
		}
	}
	if len(old) == 0 {
		return 0, nil
	}
	mark := rand.Text()
	now, err := g.update(ctx, name, &p, func(r record) (record, error) {
		r.Swept = mark
		return r, nil
	})
	if err != nil {
		return 0, fmt.Errorf("casfence: sweep %q, nothing was removed: %w", name, err)
	}
	for _, key := range old {
		if key == now.Object {
			continue
		}
		if err := s.Delete(ctx, key); err != nil {
			return removed, fmt.Errorf("casfence: sweep %q: remove %s: %w", name, key, err)
		}
		removed++
	}
	return removed, nil
}
