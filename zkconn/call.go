package zkconn

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/session"
)

var (
	errNoSession = errors.New("zkconn: call: the session is nil or a zero Session; Client.Session returns one that can be used")
	errNoOp      = errors.New("zkconn: call: op = nil")
)

// Call runs op on s and on no other session, and returns what it returns. It
// returns within ctx even while disconnected: with ctx's cause, or with an error
// matching ErrSessionLost when the session ends. The result of an op abandoned
// so is dropped, though its request may still take effect; an op that failed
// with anything but a server's definite answer (such as zk.ErrNoNode) may have
// taken effect as well.
//
// A watch that op sets is the Conn's affair: it asks for it again on each new
// connection, and a change that falls between two connections that break in quick
// succession can be told to nobody. Look again after a while, or after a reconnect.
//
// op runs on a goroutine of its own. It must write nothing outside itself except
// through its result, and must not keep, Close or AddAuth the Conn. A panic in op
// is raised in the caller, unless the call was abandoned. A nil op, and a session
// that no Client gave out, are refused with an error.
func Call[T any](ctx context.Context, s *Session, op func(*zk.Conn) (T, error)) (T, error) {
	var zero T
	switch {
	case s == nil || s.s == nil:
		return zero, errNoSession
	case op == nil:
		return zero, errNoOp
	}
	return session.CallForeign(ctx, s.s, op)
}
