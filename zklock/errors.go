package zklock

import (
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/internal/session"
)

var (
	// ErrLost matches every *LostError: the hold ended without an Unlock.
	ErrLost = errors.New("zklock: lost")
	// ErrReleased matches the cause of a Hold's context once Unlock has begun.
	ErrReleased = errors.New("zklock: released")
	// ErrMaxHold matches the loss of a hold that lasted as long as WithMaxHold allows.
	ErrMaxHold = errors.New("zklock: held for the maximum time")
	// ErrLocked is TryLock's: another contender holds or waits.
	ErrLocked = errors.New("zklock: locked")
	// ErrQueueFull says that as many contenders were ahead as WithMaxQueue names.
	ErrQueueFull = errors.New("zklock: queue is full")
	// ErrEvicted says that somebody else deleted the node of a waiter whose
	// session stands.
	ErrEvicted = errors.New("zklock: evicted: the waiter's node was deleted")
	// ErrForeignRecipe says that the path has a child of another recipe, such as
	// a semaphore or a read-write lock, whose holders a mutex cannot see.
	ErrForeignRecipe = errors.New("zklock: path is in use by another recipe")
	// ErrTooLong is Ready's: the hold can never have that much trusted time left.
	ErrTooLong = errors.New("zklock: more trusted time asked for than there can be")
)

// Reason says why a hold was lost.
type Reason uint8

// Reasons.
const (
	SessionExpired  Reason = iota + 1 // the ensemble ended the session
	SessionReplaced                   // a server handed out another session on a reconnect
	TrustRanOut                       // no proof in time, by this process's own clock
	NodeDeleted                       // by somebody else, or by the end of the session: of one that expires on a live connection the node's event comes first
	MaxHold                           // held as long as WithMaxHold allows
	EagerLoss                         // Suspect, under WithEagerLoss
	ClientClosed                      // zkconn.Client.Close
)

func (r Reason) String() string {
	switch r {
	case SessionExpired:
		return "session expired"
	case SessionReplaced:
		return "session replaced by a server"
	case TrustRanOut:
		return "trusted time ran out"
	case NodeDeleted:
		return "node deleted"
	case MaxHold:
		return "held for the maximum time"
	case EagerLoss:
		return "session suspect"
	case ClientClosed:
		return "client closed"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

func reasonOf(r session.Reason) Reason {
	switch r {
	case session.Expired:
		return SessionExpired
	case session.Replaced:
		return SessionReplaced
	case session.Closed:
		return ClientClosed
	case session.NodeGone:
		return NodeDeleted
	}
	return TrustRanOut
}

// LostError is the end of a hold that nobody released. It matches ErrLost, and
// by Reason also ErrMaxHold or zkconn.ErrClosed.
type LostError struct {
	Path   string        // full path of the lock
	Token  fencing.Token // the hold's; what it stamps from now on is to be refused
	Reason Reason
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: %s with token %v: %v", ErrLost, e.Path, e.Token, e.Reason)
}

// Is matches the sentinels named above.
func (e *LostError) Is(target error) bool {
	switch target {
	case ErrLost:
		return true
	case ErrMaxHold:
		return e.Reason == MaxHold
	case session.ErrClosed:
		return e.Reason == ClientClosed
	}
	return false
}
