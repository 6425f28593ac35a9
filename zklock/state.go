package zklock

import "fmt"

// State is where one attempt to hold the lock stands.
type State uint8

// States.
const (
	Idle      State = iota // nothing of it is left, or it has not begun
	Acquiring              // enrolled or about to be, waiting for its turn
	Held                   // granted, and the ensemble is known to be well
	Suspect                // granted; whether the ensemble still knows us is not known
	Lost                   // over, by no wish of the holder; final
	Releasing              // given up; its node must go
)

func (s State) String() string {
	switch s {
	case Idle:
		return "Idle"
	case Acquiring:
		return "Acquiring"
	case Held:
		return "Held"
	case Suspect:
		return "Suspect"
	case Lost:
		return "Lost"
	case Releasing:
		return "Releasing"
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// event is what moves an attempt on.
type event uint8

const (
	begin   event = iota // Lock was called
	grant                // first in line, proven, with trusted time left
	giveUp               // the wait ended without a grant
	suspect              // the session turned suspect
	heal                 // a newer proof was answered
	lose                 // one of the sources of loss
	unlock               // Unlock began
	sweep                // lost, and the session lives: the node must go
	gone                 // nothing of the attempt is left on the ensemble
)

func (e event) String() string {
	switch e {
	case begin:
		return "begin"
	case grant:
		return "grant"
	case giveUp:
		return "give up"
	case suspect:
		return "suspect"
	case heal:
		return "heal"
	case lose:
		return "lose"
	case unlock:
		return "unlock"
	case sweep:
		return "sweep"
	case gone:
		return "gone"
	}
	return fmt.Sprintf("event(%d)", uint8(e))
}

// next is the whole machine. A pair that is not in it changes nothing: whoever
// comes second, a loss after an Unlock or an Unlock after a loss, comes too late.
func next(s State, e event) (State, error) {
	switch s {
	case Idle:
		if e == begin {
			return Acquiring, nil
		}
	case Acquiring:
		switch e {
		case grant:
			return Held, nil
		case giveUp:
			return Releasing, nil
		}
	case Held:
		switch e {
		case suspect:
			return Suspect, nil
		case lose:
			return Lost, nil
		case unlock:
			return Releasing, nil
		}
	case Suspect:
		switch e {
		case heal:
			return Held, nil
		case lose:
			return Lost, nil
		case unlock:
			return Releasing, nil
		}
	case Lost:
		switch e {
		case sweep:
			return Releasing, nil
		case gone:
			return Idle, nil
		}
	case Releasing:
		if e == gone {
			return Idle, nil
		}
	}
	return s, fmt.Errorf("zklock: no transition from %v on %v", s, e)
}
