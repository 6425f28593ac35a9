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
	"github.com/zkfence/zkfence/zkconn"
)

const overridePrefix = "override-"

// Override puts to in place of what is remembered, after an ensemble was rebuilt and
// with all owners stopped. The record of it is a child of the memory's znode, made
// in the same multi. (Data that was in the ensemble that was rebuilt is gone with it,
// and its memories; this is for a lock in another one, and for copies put back.)
//
// An error matching fencing.ErrUnknownOutcome says that it may have been done, and
// recorded, or may be yet: once it is called again with a nil error, nothing of the
// first call comes after it, and Overrides has one record or two.
func (g *Guard) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	o := fencing.Override{Resource: resource, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	return g.move(ctx, resource, change{
		what: "override to " + to.String(),
		to: func(m memory) (memory, error) {
			record := o
			record.From = m.Last
			m = m.with(to)
			m.override = &record
			return m, nil
		},
		done: func(s *zkconn.Session, m memory) (bool, error) {
			records, err := records(ctx, s, m.path)
			return slices.ContainsFunc(records, func(r node) bool {
				var had fencing.Override
				return json.Unmarshal(r.data, &had) == nil &&
					had.When.Equal(o.When) && had.Who == o.Who && had.Why == o.Why && had.To == o.To
			}), err
		},
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
	found, err := records(ctx, s, g.path(resource))
	if err != nil {
		return nil, fencing.Named(resource, err)
	}
	var all []fencing.Override
	for _, r := range found {
		var o fencing.Override
		if err := json.Unmarshal(r.data, &o); err != nil {
			return nil, fencing.Named(resource, fmt.Errorf("znodefence: %s: %w", r.path, err))
		}
		all = append(all, o)
	}
	return all, nil
}

// records are the znodes of a memory's overrides, oldest first.
func records(ctx context.Context, s *zkconn.Session, memory string) ([]node, error) {
	names, err := call(ctx, s, func(c *zk.Conn) ([]string, error) {
		names, _, err := c.Children(memory)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var all []node
	for _, name := range names {
		if !strings.HasPrefix(name, overridePrefix) {
			continue
		}
		n, err := get(ctx, s, memory+"/"+name)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}
