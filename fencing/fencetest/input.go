package fencetest

import (
	"context"
	"errors"
	"strings"

	"github.com/zkfence/zkfence/fencing"
)

func contains(err error, text string) bool { return strings.Contains(err.Error(), text) }

func badInput(s *scene) {
	g := s.guard()
	m := s.model()
	m.send(g, 20, 5)
	m.send(g, 0, 0)
	m.send(g, 0, 6)
	m.raise(g, 0)
	m.compare(g)
	m.send(g, 20, 0)
	m.send(g, 10, 0) // stale first
	m.compare(g)
	m.send(g, 30, 0) // refused, and seen
	m.compare(g)
	m.send(g, 20, 9)
	m.compare(g)

	// On a memory with nothing in it a zero must not pass for its equal.
	fresh := s.model()
	fresh.send(g, 0, 0)
	fresh.send(g, 0, 1)
	fresh.raise(g, 0)
	fresh.compare(g)
	fresh.raise(g, 7)
	fresh.send(g, 7, 0)
	fresh.compare(g)

	for _, name := range []string{"", strings.Repeat("n", fencing.MaxResource+1), "fencetest-\x00", "fencetest-\n", "fencetest-\xff"} {
		if _, err := s.do(g, command(name, stamp(10, 1))); !errors.Is(err, fencing.ErrBadResource) {
			s.Errorf("a command to the resource %.40q of %d bytes: %v, want %v", name, len(name), err, fencing.ErrBadResource)
		}
		if err := s.raise(g, name, token(10)); !errors.Is(err, fencing.ErrBadResource) {
			s.Errorf("a raise of the resource %.40q of %d bytes: %v, want %v", name, len(name), err, fencing.ErrBadResource)
		}
	}
}

// A collation that ignores case, accents or blanks at the end, a separator that
// joins two parts, a name cut to fit: each would have one resource's owners refuse
// another's. A guard may take fewer names than there are, and says so.
func resourcesApart(s *scene) {
	g := s.guard()
	long := strings.Repeat("x", fencing.MaxResource-len("fencetest-12345678-")-1)
	names := []string{"a", "A", "a ", " a", "á", "a\u0301", "a_", "a%", "ab", "a/b", "a:b", "a'b", `a"b`, `a\b`, "a.b", "a*", "{a}", "ß", "ss", long + "1", long + "2"}
	taken := make([]*model, 0, len(names))
	for i, name := range names {
		m := &model{s: s, resource: "fencetest-" + s.run + "-" + name}
		if err := s.raise(g, m.resource, token(1)); errors.Is(err, fencing.ErrBadResource) {
			s.Logf("not taken as a name: %.20q of %d bytes", name, len(name))
			continue
		}
		m.last = stamp(1, 0)
		m.send(g, 100-uint64(i), 1)
		taken = append(taken, m)
	}
	if len(taken) < 5 {
		s.Fatalf("of %d names %d were taken", len(names), len(taken))
	}
	for _, m := range taken {
		m.compare(g)
		m.send(g, m.last.Token.Uint64(), 2)
	}
	for _, m := range taken {
		m.compare(g)
	}
}

func endedContext(s *scene) {
	g := s.guard()
	m := s.model()
	m.send(g, 10, 1)
	errCause := errors.New("the caller has gone home")
	ctx, cancel := context.WithCancelCause(s.Context())
	cancel(errCause)
	for range 20 { // a select of two that are ready tosses a coin
		_, err := g.Do(ctx, command(m.resource, stamp(20, 1)))
		if err == nil || isRefusal(err) {
			s.Errorf("a command with an ended context was answered with: %v", err)
		}
		if err := g.Raise(ctx, m.resource, token(30)); err == nil || isRefusal(err) {
			s.Errorf("a raise with an ended context was answered with: %v", err)
		}
	}
	m.compare(g)
}
