package fencetest

import (
	"errors"

	"github.com/zkfence/zkfence/fencing"
)

// A command is applied and its answer lost. "Not applied" would have its owner do the
// same under the next Stamp, and a retry that runs again do it twice.
func lostAnswer(s *scene) {
	g := s.guard()
	l, ok := g.(Loser)
	if !ok {
		s.Fatalf("fencetest: Subject.LosesAnswers is set and the Guard is no Loser: give it LoseNextAnswer, or leave LosesAnswers out")
	}
	m := s.model()
	m.raise(g, 10)
	for seq := range uint64(3) {
		c := command(m.resource, stamp(10, seq+1))
		ctx, cancel := s.bounded()
		l.LoseNextAnswer()
		_, err := g.Do(ctx, c)
		cancel()
		if err != nil && !errors.Is(err, fencing.ErrUnknownOutcome) && !errors.Is(err, fencing.ErrDuplicate) {
			s.Errorf("command %s was applied, its answer was lost, and it was answered with: %v; want %v, or that it is applied", c.Stamp, err, fencing.ErrUnknownOutcome)
		}
		if _, err := s.do(g, c); err != nil && !errors.Is(err, fencing.ErrDuplicate) {
			s.Errorf("command %s was applied, its answer was lost, and the retry was answered with: %v; want %v, or nil", c.Stamp, err, fencing.ErrDuplicate)
		}
		m.last, m.entries = c.Stamp, append(m.entries, c.Entry)
		m.compare(g)
	}
	m.send(g, 20, 1)
	m.compare(g)
}
