package door

import (
	"context"
	"slices"

	"github.com/zkfence/zkfence/fencing"
)

// Override puts to in place of what is remembered, after an ensemble was rebuilt
// and with all owners stopped, and keeps the record of it. It waits for a command
// under way. A lost one counts as settled from then on: who overrides has looked.
// Operation IDs stay known.
func (d *Door) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	o := fencing.Override{Resource: resource, To: to, Who: who, Why: why, When: d.now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	r, leave, err := d.enter(ctx, resource)
	if err != nil {
		return err
	}
	defer leave()
	o.From = r.last
	return d.remember(r, entry{Resource: resource, Last: to, Override: &o})
}

// Overrides returns the records of a resource, oldest first.
func (d *Door) Overrides(resource string) []fencing.Override {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.rooms[resource]; r != nil {
		return slices.Clone(r.overrides)
	}
	return nil
}
