package redisfence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Override puts to in place of what is remembered, after an ensemble was rebuilt and
// with all owners stopped, and keeps the record of it with the memory, in the same
// step. Operation IDs stay known.
//
// It replaces what it has found: if that changes meanwhile nothing is done, and the
// error says so. So once an Override, called again after an error that matches
// fencing.ErrUnknownOutcome, has returned nil, the first one never comes after it, unless the
// Stamp that the first one found is remembered again. Overrides has one record or two.
func (g *Guard) Override(ctx context.Context, resource string, to fencing.Stamp, who, why string) error {
	if err := g.made(); err != nil {
		return err
	}
	o := fencing.Override{Resource: resource, To: to, Who: who, Why: why, When: time.Now().UTC()}
	if err := o.Validate(); err != nil {
		return err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	from, err := g.Last(ctx, resource)
	if err != nil {
		return err
	}
	count := new(tries)
	r, err := g.eval(ctx, g.reset, keys(resource), count, []any{
		tokenText(to.Token), seqText(to.Seq), string(text), tokenText(from.Token), seqText(from.Seq), count,
	})
	if err == nil && r.what == "moved" {
		err = fmt.Errorf("redisfence: override: remembered was %s, and is %s now: stop all owners, then try again", from, r.last)
		if r.again {
			err = fmt.Errorf("%w: the answer to an earlier try was lost: %w", fencing.ErrUnknownOutcome, err)
		}
	}
	return fencing.Named(resource, err)
}

// A record is the Stamp that was remembered, in 19 and 20 digits, a blank, JSON.
const fromLength = 19 + 1 + 20

// Overrides returns the records of a resource, oldest first.
func (g *Guard) Overrides(ctx context.Context, resource string) ([]fencing.Override, error) {
	if err := g.made(); err != nil {
		return nil, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return nil, err
	}
	texts, err := g.client.LRange(ctx, keys(resource)[3], 0, -1).Result()
	if err != nil {
		return nil, fencing.Named(resource, fmt.Errorf("redisfence: %w", err))
	}
	var all []fencing.Override
	for _, text := range texts {
		var o fencing.Override
		err := errors.New("too short")
		if len(text) > fromLength {
			err = json.Unmarshal([]byte(text[fromLength+1:]), &o)
		}
		if err == nil {
			o.From, err = parseStamp(text[:19], text[20:fromLength])
		}
		if err != nil {
			return nil, fencing.Named(resource, fmt.Errorf("redisfence: a record %.100q: %w", text, err))
		}
		all = append(all, o)
	}
	return all, nil
}
