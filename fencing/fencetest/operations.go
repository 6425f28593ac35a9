package fencetest

import (
	"errors"
	"slices"
	"strings"

	"github.com/zkfence/zkfence/fencing"
)

// operation is a command with an ID. Its entry and outcome tell who sent it.
func operation(resource, id string, n, seq uint64) Command {
	c := command(resource, stamp(n, seq))
	c.OpID = id
	c.Entry = id + "/" + c.Stamp.String()
	c.Outcome = "outcome of " + c.Entry
	return c
}

// operate sends c and wants the outcome, with nil.
func (s *scene) operate(g Guard, c Command, want string) {
	s.Helper()
	if outcome, err := s.do(g, c); err != nil || outcome != want {
		s.Errorf("operation %s with %s: outcome %q and %v, want %q", c.OpID, c.Stamp, outcome, err, want)
	}
}

func (s *scene) entriesAre(g Guard, resource string, want ...string) {
	s.Helper()
	if entries, _ := s.read(g, resource); !slices.Equal(entries, want) {
		s.Errorf("resource %q has %q, want %q", resource, entries, want)
	}
}

// A Seq tells repetitions of one owner's commands alone: the next owner that
// repeats what the last one did would do it twice.
func opOnce(s *scene) {
	g := s.guard()
	m := s.model()
	pay := operation(m.resource, "pay-1", 10, 1)
	s.operate(g, pay, pay.Outcome)
	s.operate(g, pay, pay.Outcome) // the same Stamp: the outcome says more than a duplicate

	s.operate(g, operation(m.resource, "pay-1", 10, 2), pay.Outcome)
	s.operate(g, operation(m.resource, "pay-1", 20, 1), pay.Outcome) // the next owner
	s.entriesAre(g, m.resource, pay.Entry)
	if _, last := s.read(g, m.resource); last.Token != token(20) {
		s.Errorf("remembers %s after a repetition by a newer owner", last)
	}
	// To be told what became of it is no write: the old owner may know.
	s.operate(g, operation(m.resource, "pay-1", 10, 9), pay.Outcome)
	s.operate(g, operation(m.resource, "pay-1", 10, 1), pay.Outcome)
	if _, last := s.read(g, m.resource); last.Token != token(20) {
		s.Errorf("remembers %s after a repetition by an older owner", last)
	}

	// Another operation of the old owner is refused as ever, and not recorded.
	late := operation(m.resource, "pay-2", 10, 10)
	if _, err := s.do(g, late); !errors.Is(err, fencing.ErrStale) {
		s.Errorf("a new operation of an old owner: %v, want %v", err, fencing.ErrStale)
	}
	next := operation(m.resource, "pay-2", 20, 5)
	s.operate(g, next, next.Outcome)
	s.entriesAre(g, m.resource, pay.Entry, next.Entry)

	// The same ID at another resource is another operation; IDs differ by any byte.
	other := operation(s.resource(), "pay-1", 5, 1)
	s.operate(g, other, other.Outcome)
	s.entriesAre(g, other.Resource, other.Entry)
	upper := operation(m.resource, "PAY-1", 20, 6)
	s.operate(g, upper, upper.Outcome)
	empty := operation(m.resource, "quiet", 20, 7)
	empty.Outcome = ""
	s.operate(g, empty, "")
	s.operate(g, operation(m.resource, "quiet", 30, 1), "")
	s.entriesAre(g, m.resource, pay.Entry, next.Entry, upper.Entry, empty.Entry)

	for _, c := range []Command{operation(m.resource, "pay-1", 0, 1), operation(m.resource, "pay-1", 0, 0)} {
		if _, err := s.do(g, c); !errors.Is(err, fencing.ErrZeroToken) {
			s.Errorf("a repetition without a token: %v, want %v", err, fencing.ErrZeroToken)
		}
	}
	for _, id := range []string{strings.Repeat("i", fencing.MaxOpID+1), "a\x00", "a\xff"} {
		if _, err := s.do(g, operation(m.resource, id, 40, 1)); !errors.Is(err, fencing.ErrBadOpID) {
			s.Errorf("an operation ID %.40q of %d bytes: %v, want %v", id, len(id), err, fencing.ErrBadOpID)
		}
	}
	longest := operation(m.resource, strings.Repeat("i", fencing.MaxOpID), 50, 1)
	s.operate(g, longest, longest.Outcome)
	s.operate(g, operation(m.resource, longest.OpID, 60, 1), longest.Outcome)
}

// An ID recorded beside the command, and not with it, would answer for a command
// that never was.
func opFails(s *scene) {
	g := s.guard()
	resource := s.resource()
	c := operation(resource, "pay-1", 10, 1)
	f := c
	f.Fail = true
	for range 2 {
		if _, err := s.do(g, f); err == nil || isRefusal(err) {
			s.Errorf("an operation that was to run and fail was answered with: %v", err)
		}
		s.entriesAre(g, resource)
	}
	s.operate(g, c, c.Outcome)
	f.Stamp = stamp(20, 1)
	s.operate(g, f, c.Outcome) // recorded: it is not run to fail
	s.entriesAre(g, resource, c.Entry)
}

// The old owner is stopped in the operation while the next one sends it too.
func opRace(s *scene) {
	for nth := 1; nth <= 2; nth++ {
		a, b := s.guard(), s.guard()
		resource := s.resource()
		first, second := operation(resource, "pay-1", 10, 1), operation(resource, "pay-1", 20, 1)
		old := s.stop(a, first, nth)
		var outcome string
		var err error
		answered := s.while(func() { outcome, err = s.do(b, second) })
		old.resume()
		s.wait("the stopped operation", old.done)
		s.wait("the operation that came meanwhile", answered)

		entries, _ := s.read(a, resource)
		if len(entries) != 1 {
			s.Errorf("applied %q, want one of them", entries)
			continue
		}
		want := "outcome of " + entries[0]
		if err != nil || outcome != want {
			s.Errorf("the newer owner got %q and %v, want %q", outcome, err, want)
		}
		if e := old.attempt.Err; e == nil && old.outcome != want || e != nil && entries[0] == first.Entry && isRefusal(e) {
			s.Errorf("the older owner got %q and %v, want %q or, if it came late, a refusal", old.outcome, e, want)
		}
		s.operate(a, first, want)
		s.operate(a, second, want)
	}
}

func opRestart(s *scene) {
	resource := s.resource()
	c := operation(resource, "pay-1", 10, 1)
	g, closeIt := s.open()
	s.operate(g, c, c.Outcome)
	closeIt()
	g = s.guard()
	s.operate(g, operation(resource, "pay-1", 20, 1), c.Outcome)
	s.entriesAre(g, resource, c.Entry)
}
