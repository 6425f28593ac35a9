package zklock

import "fmt"

// doing is what a wait is at. Its error says so when ctx ends: no ensemble, a
// holder that never returns and a server that stopped answering all look alike
// to the caller otherwise, and take different people to mend.
type doing struct {
	what        phase
	predecessor string // while queueing
	ahead       int
}

type phase uint8

const (
	connecting  phase = iota
	enrolling         // until a node is known to be ours
	looking           // has a node, and has to see or prove that nobody is ahead
	queueing          // behind predecessor, as the newest answer showed it
	mistrusting       // first in line, with no trusted time left
)

func (d doing) String() string {
	switch d.what {
	case connecting:
		return "waiting for a session"
	case enrolling:
		return "enrolling"
	case queueing:
		return fmt.Sprintf("waiting behind %s, %d ahead", d.predecessor, d.ahead)
	case mistrusting:
		return "first in line, waiting for a newer proof of the session"
	}
	return "finding its place in line"
}
