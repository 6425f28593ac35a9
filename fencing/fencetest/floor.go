package fencetest

import "errors"

// If the floor rose only with success, the first command of a new owner could fail
// and a late command of the old one be let in after it.
func floorOnSight(s *scene) {
	g := s.guard()
	for _, before := range []bool{true, false} {
		m := s.model()
		if before {
			m.send(g, 10, 1)
		}
		m.fail(g, 20, 1)
		m.compare(g)
		m.send(g, 10, 2) // late, of the old owner
		m.compare(g)
		m.fail(g, 20, 7)
		m.send(g, 20, 1) // what failed did not count
		m.compare(g)
		m.fail(g, 30, 1)
		m.send(g, 20, 2)
		m.compare(g)
	}
}

func raised(s *scene) {
	g := s.guard()
	m := s.model()
	m.raise(g, 10) // before anything was written
	m.compare(g)
	m.send(g, 9, 1)
	m.send(g, 10, 1)
	m.raise(g, 10) // again: forgets nothing
	m.send(g, 10, 1)
	m.compare(g)
	m.raise(g, 20)
	m.compare(g)
	m.send(g, 10, 2)
	m.raise(g, 10)
	m.compare(g)
	m.send(g, 20, 3)
	m.compare(g)
}

func replayAfterSuccess(s *scene) {
	g := s.guard()
	m := s.model()
	m.send(g, 10, 1)
	for range 3 {
		m.send(g, 10, 1)
	}
	m.compare(g)
	m.send(g, 10, 5)
	m.send(g, 10, 5)
	m.compare(g)
}

func replayAfterFailure(s *scene) {
	g := s.guard()
	m := s.model()
	for range 3 {
		m.fail(g, 10, 1)
	}
	m.send(g, 10, 1)
	m.fail(g, 10, 2)
	m.send(g, 10, 2)
	m.fail(g, 10, 2) // has been applied: it is not run to fail
	m.compare(g)
}

func failureLeavesNothing(s *scene) {
	g := s.guard()
	m := s.model()
	m.fail(g, 10, 1)
	m.compare(g)
	m.send(g, 10, 2)
	m.fail(g, 10, 3)
	m.compare(g)
	m.fail(g, 20, 1)
	m.compare(g)
}

// A command fails, the next one is applied, and only then the first is tried again.
// "Already applied" would report a write that never was; to apply it would undo the
// later one (case 45).
func lateRetry(s *scene) {
	g := s.guard()
	m := s.model()
	if failing(s.subject) {
		m.fail(g, 10, 1)
	}
	m.send(g, 10, 2)
	m.send(g, 10, 1)
	m.send(g, 10, 1)
	m.send(g, 10, 2)
	m.compare(g)

	other := s.model()
	other.send(g, 9, 2) // two goroutines sent them in the other order
	other.send(g, 9, 1)
	other.compare(g)
}

func refusalsName(s *scene) {
	g := s.guard()
	m := s.model()
	m.send(g, 0x200000007, 3)
	m.send(g, 0x200000004, 9)
	m.send(g, 0x200000007, 3)
	m.send(g, 0x200000007, 2)
	m.raise(g, 0x200000004)
	m.raise(g, 0x200000009)
	m.send(g, 0x200000007, 4)
	if s.Failed() {
		return
	}
	_, err := s.do(g, command(m.resource, stamp(0x200000007, 4)))
	for _, text := range []string{m.resource, "0x200000007:4", "0x200000009:0"} {
		if err == nil || !contains(err, text) {
			s.Errorf("the refusal's text lacks %s: %v", text, err)
		}
	}
	if errors.Unwrap(err) == nil && kind(err) == nil {
		s.Errorf("the refusal matches nothing: %v", err)
	}
}
