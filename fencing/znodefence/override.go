package znodefence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/fencing"
)

const overridePrefix = "override-"

// Override puts to in place of what is remembered, after an ensemble was rebuilt and
// with all owners stopped. The record of it is a child of the memory's znode, made
// in the same multi. (Data that was in the ensemble that was rebuilt is gone with it,
// and its memories; this is for a lock in another one, and for copies put back.)
func (g *Guard) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	o := fencing.Override{Resource: resource, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	again := false
	return g.move(ctx, resource, func(m memory) (memory, error) {
		// If only the answer was lost, the record is there.
		if again {
			records, err := g.Overrides(ctx, resource)
			if err != nil {
				return m, err
			}
			for _, r := range records {
				if r.When.Equal(o.When) && r.Who == o.Who && r.Why == o.Why && r.To == o.To {
					return m, nil
				}
			}
		}
		again = true
		record := o
		record.From = m.Last
		m = m.with(to)
		m.override = &record
		return m, nil
	})
}

// Overrides returns the records of a resource, oldest first.
func (g *Guard) Overrides(ctx context.Context, resource string) ([]fencing.Override, error) {
	if err := g.made(); err != nil {
		return nil, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return nil, err
	}
	s, err := g.session(ctx)
	if err != nil {
		return nil, err
	}
	path := g.path(resource)
	names, err := call(ctx, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, fencing.Named(resource, err)
	}
	slices.Sort(names)
	var all []fencing.Override
	for _, name := range names {
		if !strings.HasPrefix(name, overridePrefix) {
			continue
		}
		n, err := get(ctx, s, path+"/"+name)
		if err != nil {
			return nil, fencing.Named(resource, err)
		}
		var o fencing.Override
		if err := json.Unmarshal(n.data, &o); err != nil {
			return nil, fencing.Named(resource, fmt.Errorf("znodefence: %s/%s: %w", path, name, err))
		}
		all = append(all, o)
	}
	return all, nil
}
