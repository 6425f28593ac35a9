package fencetest

import (
	"strings"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

func (s *scene) overrider(g Guard) Overrider {
	s.Helper()
	o, ok := g.(Overrider)
	if !ok {
		s.Fatalf("the guard is no Overrider, and Subject.NoOverride is not set")
	}
	return o
}

func (s *scene) overrides(o Overrider, resource string) []fencing.Override {
	s.Helper()
	ctx, cancel := s.bounded()
	defer cancel()
	records, err := o.Overrides(ctx, resource)
	if err != nil {
		s.Fatalf("Overrides(%q): %v", resource, err)
	}
	return records
}

// The ensemble was rebuilt and gives out small tokens (case 27).
func override(s *scene) {
	g, closeIt := s.open()
	o := s.overrider(g)
	m := s.model()
	bystander := s.model()
	bystander.send(g, 0x500000009, 1)
	m.send(g, 0x500000009, 3)
	m.send(g, 0x100000004, 1) // refused
	if n := len(s.overrides(o, m.resource)); n != 0 {
		s.Errorf("%d records before any override", n)
	}

	var want []fencing.Override
	reset := func(to fencing.Stamp, why string) {
		s.Helper()
		ctx, cancel := s.bounded()
		defer cancel()
		if err := o.Override(ctx, m.resource, to, "the operator", why); err != nil {
			s.Fatalf("Override to %s: %v", to, err)
		}
		want = append(want, fencing.Override{Resource: m.resource, From: m.last, To: to, Who: "the operator", Why: why})
		m.last = to
		m.compare(g)
	}
	began := time.Now()
	reset(stamp(0x100000002, 5), "ensemble rebuilt; ticket 7, \"quoted\" ü")
	m.send(g, 0x100000001, 9)
	m.send(g, 0x100000002, 5) // what it was set to counts as applied
	m.send(g, 0x100000002, 6)
	m.compare(g)
	reset(fencing.Stamp{}, "again")
	m.send(g, 1, 1)
	m.compare(g)
	reset(stamp(0x700000000, 0), "and up")
	m.send(g, 1, 2)
	m.send(g, 0x700000000, 1)
	m.compare(g)
	bystander.send(g, 0x100000004, 1)
	bystander.compare(g)

	if restarting(s.subject) {
		closeIt()
		g = s.guard()
		o = s.overrider(g)
		m.compare(g)
	}
	got := s.overrides(o, m.resource)
	if len(got) != len(want) {
		s.Fatalf("%d records of %d overrides: %v", len(got), len(want), got)
	}
	for i := range got {
		// Another machine's clock may have written it, in whole seconds.
		if d := got[i].When.Sub(began); d < -time.Hour || d > time.Hour {
			s.Errorf("override %d is dated %s", i, got[i].When)
		}
		got[i].When = time.Time{}
		if got[i] != want[i] {
			s.Errorf("record %d is %+v, want %+v", i, got[i], want[i])
		}
	}
	if n := len(s.overrides(o, bystander.resource)); n != 0 {
		s.Errorf("%d records at another resource", n)
	}
}

func badOverride(s *scene) {
	g := s.guard()
	o := s.overrider(g)
	m := s.model()
	m.send(g, 10, 3)
	for _, c := range []struct {
		what, resource string
		to             fencing.Stamp
		who, why       string
	}{
		{"nobody", m.resource, stamp(5, 0), "", "why"},
		{"no reason", m.resource, stamp(5, 0), "who", ""},
		{"a reason of many lines", m.resource, stamp(5, 0), "who", "a\nb"},
		{"a reason too long", m.resource, stamp(5, 0), "who", strings.Repeat("y", 1025)},
		{"a Seq without a token", m.resource, stamp(0, 5), "who", "why"},
		{"no resource", "", stamp(5, 0), "who", "why"},
		{"a resource too long", strings.Repeat("n", fencing.MaxResource+1), stamp(5, 0), "who", "why"},
	} {
		ctx, cancel := s.bounded()
		if err := o.Override(ctx, c.resource, c.to, c.who, c.why); err == nil {
			s.Errorf("an override with %s was done", c.what)
		}
		cancel()
	}
	m.compare(g)
	if n := len(s.overrides(o, m.resource)); n != 0 {
		s.Errorf("%d records of overrides that were not done", n)
	}
}
