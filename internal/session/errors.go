package session

import (
	"errors"
	"fmt"
)

var (
	// ErrLost matches every error that says a session has ended.
	ErrLost = errors.New("zkconn: session lost")
	// ErrClosed matches every error that says Client.Close was called.
	ErrClosed = errors.New("zkconn: client is closed")
)

// Reason says why a session ended for its client.
type Reason uint8

// Reasons. NodeGone never ends a session: it is what a Claim is told when a
// majority says that the claimed node does not exist.
const (
	Expired     Reason = iota + 1 // the ensemble said so
	Replaced                      // a server handed out another session on a reconnect
	TrustRanOut                   // by our own clock: no proof in time, or disconnected for the whole timeout
	Closed                        // Client.Close
	NodeGone
)

func (r Reason) String() string {
	switch r {
	case Expired:
		return "expired by the ensemble"
	case Replaced:
		return "replaced by the server with another session"
	case TrustRanOut:
		return "trusted time ran out on our clock"
	case Closed:
		return "client closed"
	case NodeGone:
		return "node deleted"
	}
	return fmt.Sprintf("Reason(%d)", uint8(r))
}

// LostError is the cause of an ended session's context.
type LostError struct {
	ID     int64
	Reason Reason
}

func (e *LostError) Error() string {
	return fmt.Sprintf("%v: session 0x%x: %v", ErrLost, uint64(e.ID), e.Reason)
}

// Is matches ErrLost, and ErrClosed where the client was closed.
func (e *LostError) Is(target error) bool {
	return target == ErrLost || target == ErrClosed && e.Reason == Closed
}
