package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Unlock gives the lock back. Ownership, and Context, end when Unlock starts,
// whatever it returns. Nil: the node is proven to be deleted. The *LostError if
// the hold was lost first. Else a server refused the delete, which the error
// wraps (zk.ErrNoAuth where the directory grants this client no DELETE) and of
// which it names the node; or ctx ended, or the session did, before the delete
// was answered. After each it is carried out as soon as it can be, or the node
// goes with its session. Unlock again joins the one under way, or repeats its
// answer.
//
// ctx bounds the wait and nothing else. It may be the hold's own Context, that of
// Do's fn, or one made of it: Unlock ends it, and goes on waiting then until its
// Deadline, for at most the session timeout. That it is cancelled besides is not
// noticed any more; a ctx that has ended before the call bounds the wait as ever.
func (h *Hold) Unlock(ctx context.Context) error {
	stood := ctx.Err() == nil // asked before this call, or one beside it, can end it
	h.owned()
	a := h.a
	a.move(unlock)
	if lost := a.wasLost(); lost != nil {
		return lost
	}
	err := a.release(ctx)
	// Invariant: what ends the wait is the caller's doing, and never Unlock's own.
	// Broken by: Unlock(h.Context()) ends the hold, and ctx with it, before the
	// delete has been sent; the wait ends at once, and a release that is under way
	// and in order is reported as failed. The end of a context made of ctx can reach
	// it late, by a goroutine; so it is judged when it ends the wait.
	if stood && errors.Is(err, h.released) {
		ctx, cancel := h.outlasting(ctx)
		defer cancel()
		err = a.release(ctx)
	}
	return err
}

// outlasting is ctx without its end, which the hold's own release was.
func (h *Hold) outlasting(ctx context.Context) (context.Context, context.CancelFunc) {
	end := time.Now().Add(h.session.Timeout())
	if deadline, ok := ctx.Deadline(); ok && deadline.Before(end) {
		end = deadline
	}
	return context.WithDeadline(context.WithoutCancel(ctx), end)
}

// release waits until a hold's node is gone.
func (a *attempt) release(ctx context.Context) error {
	select {
	case <-a.gone:
	default:
		select {
		case <-a.gone:
		case <-a.refused:
			return a.refusal()
		case <-ctx.Done():
			select {
			case <-a.refused:
				return a.refusal()
			default:
			}
			return fmt.Errorf("zklock: unlock %s: %w", a.line.Dir, context.Cause(ctx))
		}
	}
	a.mu.Lock()
	proven := a.proven
	a.mu.Unlock()
	if !proven {
		return fmt.Errorf("zklock: unlock %s: the session ended before the delete was answered: %w", a.line.Dir, a.hold.session.Err())
	}
	return nil
}

// refusal is Unlock's error once refused is closed.
func (a *attempt) refusal() error {
	return fmt.Errorf("zklock: unlock %s: %w", a.line.Dir, a.departure.Refusal())
}
