package main

import (
	"context"
	"errors"
	"log"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
)

// told logs where this worker stands, for people: nothing may act on it.
func told() *zklock.Trace {
	return &zklock.Trace{
		Enrolled: func(a zklock.Attempt, node string) {
			if a.ID > 1 {
				log.Printf("back: a candidate again, as %s", node)
				return
			}
			log.Printf("a candidate, as %s", node)
		},
		Waiting: func(_ zklock.Attempt, _ string, ahead int) { log.Printf("waiting: %d ahead", ahead) },
		Granted: func(_ zklock.Attempt, token fencing.Token) { log.Printf("leading, with token %v", token) },
		State: func(_ zklock.Attempt, t zklock.Transition) {
			switch {
			case t.To == zklock.Suspect:
				log.Print("in doubt: the ensemble has not answered")
			case t.From == zklock.Suspect && t.To == zklock.Held:
				log.Print("leading without doubt again")
			}
		},
		Lost: func(_ zklock.Attempt, err *zklock.LostError) { log.Printf("no longer leading: %v", err) },
		Released: func(_ zklock.Attempt, proven bool) {
			if proven {
				log.Print("resigned")
			}
		},
	}
}

// unless leaves out of err what only says that ctx has ended, which it was told
// to. What else went wrong stays: a term that was not resigned is news.
func unless(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // this very one, not what it wraps: each part has its own say
		var rest []error
		for _, part := range joined.Unwrap() {
			rest = append(rest, unless(ctx, part))
		}
		return errors.Join(rest...)
	}
	if errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
