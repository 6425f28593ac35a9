package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkfence/zkfence/fencing"
)

// some is how many commands of a leader the script wants to see accepted.
const some = 5

var errStuck = errors.New("the story takes too long")

// story pauses the leader past its session, waits for the takeover, and resumes
// it. What comes of its late command is for the ledger's history to say.
func (p *play) story(ctx context.Context) error {
	t := p.troupe
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := time.AfterFunc(3*patience, func() { cancel(errStuck) })
	defer limit.Stop()

	var first *member
	var old fencing.Stamp
	if err := t.await(ctx, "somebody leads, and commands", func() bool {
		first, old = t.commanding(fencing.Token{}), t.known
		return first != nil
	}); err != nil {
		return err
	}
	limit.Reset(10*first.timeout + 3*patience) // by what was granted, not by what was asked for
	if err := t.pause(ctx, first); err != nil {
		return err
	}
	began := time.Now()
	p.say("its session, of %v, goes on without it; the others wait for that to end", first.timeout)

	var second *member
	if err := t.await(ctx, "another one leads, and commands", func() bool {
		second = t.commanding(old.Token)
		return second != nil
	}); err != nil {
		return err
	}
	p.say("%s has taken over: %d of its commands accepted, %.1f s after %s was %s", second.name, some, time.Since(began).Seconds(), first.name, first.pauser.What)

	var sent int // of which it knows, and the ledger too: it stands between two commands
	t.change(func() { sent = first.accepted + first.refused })
	if err := t.resume(first); err != nil {
		return err
	}
	if err := t.await(ctx, first.name+" has sent its late command", func() bool { return first.accepted+first.refused > sent || first.ended }); err != nil {
		return err
	}
	if err := t.await(ctx, first.name+" stands for election again", func() bool {
		return first.ended || first.last.Token.IsZero() && first.last.Ahead > 0
	}); err != nil {
		return err
	}
	if first.ended {
		return fmt.Errorf("%s has ended: %w", first.name, first.failed)
	}
	enough := 2 * uint64(some)
	return t.await(ctx, second.name+" goes on", func() bool { return t.known.Seq >= enough || t.known.Token != second.last.Token })
}

// commanding returns the candidate of a term newer than after of which the ledger
// has accepted some commands. The caller has t.mu.
func (t *troupe) commanding(after fencing.Token) *member {
	if t.known.Token.Compare(after) <= 0 || t.known.Seq < some {
		return nil
	}
	for _, m := range t.members {
		if m.last.Token == t.known.Token {
			return m
		}
	}
	return nil
}
