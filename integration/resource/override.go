package resource

import (
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// Override is one reset of what a Store remembers, as an operator has to write it
// down.
type Override struct {
	Who, Why string
	When     time.Time
	From, To fencing.Stamp
}

// Override puts to in the place of what the Store remembers, older or not, and
// keeps a record. From then on nothing is refused because of what was remembered
// before, so those who may still write by it have to be stopped first.
func (s *Store) Override(who, why string, to fencing.Stamp) Override {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := Override{Who: who, Why: why, When: time.Now(), From: s.last, To: to}
	s.last = to
	s.overrides = append(s.overrides, o)
	return o
}

// Overrides returns the records, oldest first.
func (s *Store) Overrides() []Override {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Override(nil), s.overrides...)
}
