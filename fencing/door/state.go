package door

import (
	"slices"

	"github.com/zkfence/zkfence/fencing"
)

// state is what is remembered of one resource.
type state struct {
	last      fencing.Stamp
	answer    []byte        // of the command that last is; nil if it was not kept
	pending   *pending      // was let through, and has not been answered
	lost      fencing.Stamp // the last before pending whose answer was lost; zero if a later one has succeeded
	ops       map[string]outcome
	order     []string // of ops, oldest first
	overrides []fencing.Override
}

type pending struct {
	Stamp fencing.Stamp `json:"stamp"`
	OpID  string        `json:"op,omitempty"`
}

type outcome struct {
	OpID    string `json:"op,omitempty"`
	Bytes   []byte `json:"out"` // nil if not kept
	Unknown bool   `json:"unknown,omitempty"`
}

// entry is one change, a line of the file. Last, Pending and Lost are what holds
// after it; the rest is added to what there is.
type entry struct {
	Resource string            `json:"resource"`
	Last     fencing.Stamp     `json:"last"`
	Pending  *pending          `json:"pending,omitempty"`
	Lost     fencing.Stamp     `json:"lost,omitzero"`
	Outcome  *outcome          `json:"outcome,omitempty"`
	Failed   string            `json:"failed,omitempty"` // this operation did not take effect
	Override *fencing.Override `json:"override,omitempty"`
}

// empty: it says no more than that of a resource nobody has come to.
func (s *state) empty() bool {
	return s.last == fencing.Stamp{} && s.answer == nil && s.pending == nil && s.lost == fencing.Stamp{} && len(s.ops) == 0 && len(s.overrides) == 0
}

func (s *state) apply(e entry, maxOps int) {
	if e.Last != s.last {
		s.answer = nil
	}
	s.last, s.pending, s.lost = e.Last, e.Pending, e.Lost
	if p := e.Pending; p != nil && p.OpID != "" {
		s.keep(outcome{OpID: p.OpID, Unknown: true}, maxOps)
	}
	if e.Failed != "" {
		delete(s.ops, e.Failed)
		s.order = slices.DeleteFunc(s.order, func(id string) bool { return id == e.Failed })
	}
	if o := e.Outcome; o != nil {
		if !o.Unknown {
			s.answer = o.Bytes
		}
		if o.OpID != "" {
			s.keep(*o, maxOps)
		}
	}
	if e.Override != nil {
		s.overrides = append(s.overrides, *e.Override)
	}
}

// keep records an operation, and forgets the oldest beyond max.
func (s *state) keep(o outcome, limit int) {
	if _, known := s.ops[o.OpID]; !known {
		s.order = append(s.order, o.OpID)
	}
	s.ops[o.OpID] = o
	if over := len(s.order) - limit; over > 0 {
		for _, id := range s.order[:over] {
			delete(s.ops, id)
		}
		s.order = slices.Clone(s.order[over:])
	}
}

// entries has the same effect as all that were applied.
func (s *state) entries(resource string) []entry {
	var all []entry
	for _, o := range s.overrides {
		all = append(all, entry{Resource: resource, Last: s.last, Override: &o})
	}
	for _, id := range s.order {
		o := s.ops[id]
		all = append(all, entry{Resource: resource, Last: s.last, Outcome: &o})
	}
	end := entry{Resource: resource, Last: s.last, Pending: s.pending, Lost: s.lost, Outcome: &outcome{Bytes: s.answer}}
	return append(all, end)
}
