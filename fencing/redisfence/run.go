package redisfence

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zkfence/zkfence/fencing"
)

// Command is one guarded command.
type Command struct {
	Resource string
	Stamp    fencing.Stamp
	OpID     string // empty: none
}

// Script is the body of a Lua function with the arguments keys and args, tables of
// the keyNames and args that are given to Run:
//
//	redis.call('RPUSH', keys[1], args[1])
//	return redis.call('LLEN', keys[1])
//
// What it returns is the outcome: a string, a status, a number, which is rounded to an
// integer; anything else is "".
// An error (error('…'), redis.error_reply('…'), a call that fails) says that it has
// not been applied. Redis takes nothing back: look at everything first, and write
// when nothing can fail any more.
//
// NewScript makes one; the zero Script is refused.
type Script struct{ s script }

var errNoScript = errors.New("redisfence: the Script was not made by NewScript")

// NewScript returns a Script. An empty body is an error; whether it is Lua, the
// server says when it is first run.
func NewScript(body string) (Script, error) {
	if strings.TrimSpace(body) == "" {
		return Script{}, errors.New("redisfence: the script is empty")
	}
	return Script{newScript("local function command(keys, args)\n" + body + "\nend\n" + runLua)}, nil
}

// CommandError is the failure of a command's script.
type CommandError struct{ Text string }

func (e *CommandError) Error() string { return "redisfence: the command failed: " + e.Text }

// Run runs a script if c may run, in one step with the judgement and with what is
// remembered, in one round trip (two when the server has not seen the script yet).
// keyNames are the script's keys, and should be made by Key.
//
// A nil error: it has been applied, or had been under this operation ID, and the
// outcome is the one recorded. A *fencing.StaleError: refused. A *CommandError: it
// was let through and has failed; the same Stamp may try again. An error matching
// fencing.ErrUnknownOutcome: it may have been applied, or may be yet; it can match
// fencing.ErrStale, ErrSuperseded or *CommandError as well. What another call with the
// same Stamp fails with is about that call: the first can still be applied. Else as
// package fencing has it for bad input; the server's refusal (OOM, a key that holds something else, READONLY); or ctx's cause if
// nothing was sent.
//
// A refusal that go-redis answers by sending again, as READONLY, LOADING and CLUSTERDOWN
// with the default MaxRetries, is an unknown outcome: of several tries the last alone is
// known. With MaxRetries -1 it is the refusal that it is.
func (g *Guard) Run(ctx context.Context, c Command, s Script, keyNames []string, args ...any) (outcome string, err error) {
	if err := g.made(); err != nil {
		return "", err
	}
	if s.s.text == "" {
		return "", errNoScript
	}
	if err := fencing.ValidateResource(c.Resource); err != nil {
		return "", err
	}
	if c.OpID != "" {
		if err := fencing.ValidateOpID(c.OpID); err != nil {
			return "", err
		}
	}
	if c.Stamp.Token.IsZero() {
		return "", fencing.Named(c.Resource, fencing.ErrZeroToken)
	}
	count := new(tries)
	argv := append([]any{tokenText(c.Stamp.Token), seqText(c.Stamp.Seq), c.OpID, g.maxOps}, args...)
	argv = append(argv, count)
	r, err := g.eval(ctx, s.s, keys(c.Resource, keyNames...), count, argv)
	if err != nil {
		return "", fencing.Named(c.Resource, err)
	}
	return g.judge(c, r)
}

func (g *Guard) judge(c Command, r reply) (string, error) {
	switch r.what {
	case "ran", "known":
		return r.outcome, nil
	case "failed":
		failed := fencing.Named(c.Resource, &CommandError{r.outcome})
		if r.again { // the first try may be on its way, and not fail
			return "", fmt.Errorf("redisfence: %w: the answer to an earlier try was lost: %w", fencing.ErrUnknownOutcome, failed)
		}
		return "", failed
	case "refused":
		_, refusal := fencing.Check(r.last, c.Stamp)
		switch {
		case refusal == nil:
			return "", fmt.Errorf("redisfence: resource %q: %s was refused, and %s is remembered", c.Resource, c.Stamp, r.last)
		case r.again && errors.Is(refusal, fencing.ErrDuplicate) && c.OpID == "":
			return r.outcome, nil // of our own first try, whose answer was lost
		case r.again && !errors.Is(refusal, fencing.ErrDuplicate) && !errors.Is(refusal, fencing.ErrZeroSeq):
			refusal = fencing.Named(c.Resource, refusal)
			return "", fmt.Errorf("redisfence: %w: the answer to an earlier try was lost: %w", fencing.ErrUnknownOutcome, refusal)
		}
		return "", fencing.Named(c.Resource, refusal)
	}
	return "", fmt.Errorf("redisfence: resource %q: command %s: %w: %s: %s", c.Resource, c.Stamp, fencing.ErrUnknownOutcome, r.what, r.outcome)
}

// Set is Run of a SET of one key.
func (g *Guard) Set(ctx context.Context, c Command, key string, value any) error {
	s, err := NewScript("return redis.call('SET', keys[1], args[1])")
	if err == nil {
		_, err = g.Run(ctx, c, s, []string{key}, value)
	}
	return err
}

// Raise refuses everything older than t from its return on. It is what a new owner
// does before it reads. Errors are as of Run.
func (g *Guard) Raise(ctx context.Context, resource string, t fencing.Token) error {
	if err := fencing.ValidateResource(resource); err != nil {
		return err
	}
	if err := g.made(); err != nil {
		return err
	}
	if t.IsZero() {
		return fencing.Named(resource, fencing.ErrZeroToken)
	}
	count := new(tries)
	r, err := g.eval(ctx, g.raise, keys(resource), count, []any{tokenText(t), count})
	if err == nil && r.what == "refused" {
		_, err = fencing.CheckRaise(r.last, t)
	}
	return fencing.Named(resource, err)
}

// Last returns what is remembered of a resource, as the server that is asked has it;
// the zero Stamp of one that nobody has come to.
func (g *Guard) Last(ctx context.Context, resource string) (fencing.Stamp, error) {
	if err := g.made(); err != nil {
		return fencing.Stamp{}, err
	}
	if err := fencing.ValidateResource(resource); err != nil {
		return fencing.Stamp{}, err
	}
	var fields *redis.SliceCmd
	var there *redis.IntCmd
	_, err := g.client.TxPipelined(ctx, func(p redis.Pipeliner) error {
		fields, there = p.HMGet(ctx, memoryKey(resource), "token", "seq"), p.Exists(ctx, memoryKey(resource))
		return nil
	})
	if err != nil {
		return fencing.Stamp{}, fencing.Named(resource, fmt.Errorf("redisfence: %s: %w", memoryKey(resource), err))
	}
	if there.Val() == 0 {
		return fencing.Stamp{}, nil
	}
	token, _ := fields.Val()[0].(string)
	seq, _ := fields.Val()[1].(string)
	last, err := parseStamp(token, seq)
	return last, fencing.Named(resource, err)
}
