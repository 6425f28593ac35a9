package election

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/zkfence/zkfence/internal/session"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// Run campaigns, calls lead while this candidate leads, and resigns when lead
// has returned. It is either campaigning or leading until it returns, except
// while a lead whose term is over has not returned: that is lead's to end, and
// Handler's to report. It returns in one of these cases alone:
//
//   - lead has returned while leading: its error, nil included. If a server
//     refused to delete the node, that is joined: the next campaign waits for it.
//   - ctx has ended: an error that wraps context.Cause(ctx), joined with lead's
//     error if it was leading. The candidate's node is gone by then, or goes as soon
//     as the ensemble can be reached.
//   - campaigning has become pointless: zkconn.ErrClosed, a server's refusal
//     such as zk.ErrNoAuth, zklock.ErrForeignRecipe, zklock.ErrQueueFull, each
//     wrapped with the path. ErrBusy at once, if this Election campaigns or leads.
//
// A term that is lost ends lead's context with the *zklock.LostError. Once lead
// has returned, never beside it, Run campaigns again, after a jittered pause of at
// most a quarter of the session timeout, which grows while terms stay short; what
// lead returned goes to the Trace's Returned. A candidate whose node somebody has
// deleted while it waited campaigns again in the same way. A lead that does not
// heed its context keeps this candidate out of the election, and nobody else: the
// term is over for all others.
//
// At the beginning of a term lead has the resource refuse what older terms still
// have under way, before it reads what its commands build on: fencing.Gate's Raise
// with t.Token(), or where the resource is elsewhere fencing.Check, in one step
// with remembering the floor it returns, of fencing.Stamp{Token: t.Token()}. Its
// Seq 0 is no command's, so the floor comes with fencing.ErrZeroSeq.
//
// A command refused as fencing.ErrStale while ctx lives says that a later term has
// begun, and word of it is on its way: lead issues nothing more, waits for
// ctx.Done(), and returns; then Run campaigns again. Returned at once, the error
// is a lead's that returns while leading, and ends Run. The word takes at most the
// session timeout. If ctx lives on after that, the resource remembers a Token that
// this ensemble has not given, as after a restored backup: return the error then,
// for to campaign again does not help.
//
// lead's context has the values of ctx and the Token, and ends with ctx or the
// term; its Err is context.Canceled, the reason is context.Cause. Of the two, only
// the term's end means that others may lead: after ctx's, the term stands until lead
// has returned. lead may call Resign, or Client.Close; it cannot campaign, for this
// Election is busy. A panic in lead, or runtime.Goexit, resigns as well and then
// goes on.
func (e *Election) Run(ctx context.Context, lead func(ctx context.Context, t *Term) error) error {
	if lead == nil {
		return fmt.Errorf("election: run %s: lead = nil", e.line.Dir)
	}
	if err := e.enter("run"); err != nil {
		return err
	}
	defer e.exit()
	var b backoff
	for {
		r := e.once(ctx, lead)
		if r.over() {
			return r.err
		}
		e.log.Info("campaigning again", zap.Error(r.err))
		timer := time.NewTimer(b.next(r))
		select {
		case <-timer.C:
		case <-e.client.Closing(): // which the next campaign says
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// round is one campaign and what came of it.
type round struct {
	hold  *zklock.Hold  // nil: never led
	lost  bool          // before lead had returned
	ended bool          // ctx had, when lead returned
	took  time.Duration // of the term, or of the campaign if it never led
	err   error
}

// once campaigns once, and leads if that succeeds. Invariant: when it returns,
// lead has returned. Broken by: the term is lost, lead goes on, and the next term
// begins beside it.
func (e *Election) once(ctx context.Context, lead func(context.Context, *Term) error) (r round) {
	began := time.Now()
	var said error // lead's
	r.err = e.mutex.Do(ctx, func(inner context.Context, h *zklock.Hold) error {
		r.hold = h
		began = time.Now()
		t := e.begin(h, true)
		defer t.left.Store(true)
		said = lead(inner, t)
		r.ended = ctx.Err() != nil
		// By the clock: a process that has just woken up learns of its loss here.
		h.State()
		r.lost = lostBy(h) != nil
		return said
	})
	r.took = time.Since(began)
	switch {
	case r.hold == nil:
		r.err = fmt.Errorf("election: campaign: %w", r.err) // ctx's cause, if that has ended
	case !r.lost && lostBy(r.hold) != nil:
		r.err = said // lost while it was being resigned: no matter to lead any more
	}
	if cause := context.Cause(ctx); r.ended && !errors.Is(r.err, cause) {
		r.err = errors.Join(cause, r.err)
	}
	return r
}

// over reports that Run is to return.
func (r round) over() bool {
	switch {
	case r.ended:
		return true
	case r.hold == nil:
		return !errors.Is(r.err, zklock.ErrEvicted)
	case r.lost:
		return errors.Is(context.Cause(r.hold.Context()), zkconn.ErrClosed)
	}
	return true
}

// backoff spaces campaigns: a candidate whose terms end at once must not have
// every other one look again each time.
type backoff struct{ short int }

func (b *backoff) next(r round) time.Duration {
	timeout := 4 * time.Second
	if r.hold != nil {
		timeout = r.hold.Internal().Session.Timeout()
	}
	if r.took >= timeout {
		b.short = 0
	}
	d := timeout / 64 << min(b.short, 4)
	b.short++
	return session.Jitter(d)
}
