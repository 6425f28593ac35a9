package fencetest

import (
	"errors"

	"github.com/zkfence/zkfence/fencing"
)

// A command is stopped in its body, sent again, and applied; then the first one goes
// on and fails. "Not applied" is wrong of that Stamp by then: its owner would do the
// same under the next one.
func failureTells(s *scene) {
	for nth := 1; nth <= 2; nth++ {
		a, b := s.guard(), s.guard()
		resource := s.resource()
		c := command(resource, stamp(10, 1))
		old := s.stop(a, failingCommand(resource, c.Stamp), nth)
		var err error
		answered := s.while(func() { _, err = s.do(b, c) })
		meanwhile := closed(old.reached) && closed(answered)
		old.resume()
		s.wait("the stopped command", old.done)
		s.wait("its repetition", answered)
		if err != nil {
			s.Errorf("the repetition was answered with: %v", err)
		}
		s.entriesAre(a, resource, c.Entry)
		switch e := old.attempt.Err; {
		case e == nil:
			s.Errorf("a command that was to fail was answered with nil")
		case meanwhile && !errors.Is(e, fencing.ErrDuplicate) && !errors.Is(e, fencing.ErrUnknownOutcome):
			s.Errorf("command %s failed after its repetition had been applied, and was answered with: %v; want %v", c.Stamp, e, fencing.ErrDuplicate)
		}
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
