package redisfence

import (
	"context"
	"crypto/sha1" // Redis names scripts by it
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/zkfence/zkfence/fencing"
)

// Options of a Guard. The zero Options have every default.
type Options struct {
	// MaxOps is how many operation IDs are remembered for each resource. The
	// repetition of one before these runs again. Of several Guards of one resource the
	// smallest counts: give all the same. Defaults to 1000.
	MaxOps int
}

// Guard guards resources in one Redis, or one cluster. It is safe for concurrent use;
// any number of Guards, in any processes, are one. Make it with New; the zero Guard
// refuses everything.
type Guard struct {
	client redis.UniversalClient
	maxOps int
	raise  script
	reset  script
}

// New returns a Guard. The client stays the caller's to close. A *redis.Ring is refused,
// and must not be hidden in another type: it moves the keys of a shard that does not
// answer to one that has no memory of them.
func New(client redis.UniversalClient, o Options) (*Guard, error) {
	// Invariant: a resource has one memory. With a Ring the memory of {12,1} is on a
	// shard; once that has not answered three pings, {10,1} is judged by the empty
	// memory of another one, and admitted.
	if _, is := client.(*redis.Ring); is {
		return nil, errors.New("redisfence: the client is a *redis.Ring, which goes to another shard, without the memory, when one is down; use a redis.Client or a redis.ClusterClient")
	}
	switch {
	case client == nil, reflect.ValueOf(client).Kind() == reflect.Pointer && reflect.ValueOf(client).IsNil():
		return nil, errors.New("redisfence: the client is nil")
	case o.MaxOps < 0:
		return nil, fmt.Errorf("redisfence: Options.MaxOps = %d, want 0 for the default, or more", o.MaxOps)
	case o.MaxOps == 0:
		o.MaxOps = 1000
	}
	return &Guard{client: client, maxOps: o.MaxOps, raise: newScript(raiseLua), reset: newScript(overrideLua)}, nil
}

var errNotMade = errors.New("redisfence: guard was not made by New")

func (g *Guard) made() error {
	if g == nil || g.client == nil {
		return errNotMade
	}
	return nil
}

var (
	//go:embed script.lua
	prelude string
	//go:embed run.lua
	runLua string
	//go:embed raise.lua
	raiseLua string
	//go:embed override.lua
	overrideLua string
)

type script struct{ text, sha string }

func newScript(text string) script {
	text = prelude + text
	sum := sha1.Sum([]byte(text))
	return script{text, hex.EncodeToString(sum[:])}
}

// tag is a resource's hash tag: between the first { and the first } behind it Redis
// looks for it, so the name itself must have neither.
func tag(resource string) string {
	return "{" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(resource) + "}"
}

// Key is the name of a key that belongs to a resource, on the cluster's node that has
// the resource's memory: "{resource}:name". Of the resource's name, "%", "{" and "}"
// are percent-encoded.
func Key(resource, name string) string { return tag(resource) + ":" + name }

func memoryKey(resource string) string { return "zkfence:" + tag(resource) }

func keys(resource string, more ...string) []string {
	m := memoryKey(resource)
	return append([]string{m, m + ":ops", m + ":order", m + ":overrides"}, more...)
}

// reply is what a script has said.
type reply struct {
	what    string
	last    fencing.Stamp
	outcome string
	// again: it was sent more than once, and what became of the first is known by the
	// last alone.
	again bool
}

// tries is an argument that counts how often it is written to a connection: go-redis
// sends a command again by itself.
//
// Invariant: a server runs a command only if its try was counted, and no more tries are
// counted than that needs. So it is the last argument, without which no server runs
// anything. Before others it counts a try that go-redis then gives up, because it
// cannot write one of those, and that is told as an unknown outcome.
type tries struct{ n int }

func (t *tries) MarshalBinary() ([]byte, error) {
	t.n++
	return fmt.Append(nil, t.n), nil
}

// eval runs a script. An error that matches fencing.ErrUnknownOutcome: it may have
// been run. Another: it was not.
func (g *Guard) eval(ctx context.Context, s script, keys []string, count *tries, args []any) (reply, error) {
	if ctx.Err() != nil {
		return reply{}, fencing.Ended(ctx)
	}
	answer, err := g.client.EvalSha(ctx, s.sha, keys, args...).Slice()
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		answer, err = g.client.Eval(ctx, s.text, keys, args...).Slice()
		count.n-- // the first was answered, at least when it was sent once
	}
	if err != nil {
		return reply{}, failed(ctx, err, count.n)
	}
	r, err := parseReply(answer)
	r.again = count.n > 1
	return r, err
}

// failed tells a definite answer from none. sent is how often it was: what a server
// says to the last try says nothing about the ones before.
func failed(ctx context.Context, err error, sent int) error {
	var said redis.Error
	switch {
	case sent == 0:
		return fmt.Errorf("redisfence: nothing was sent: %w", cause(ctx, err))
	case sent == 1 && errors.As(err, &said):
		return fmt.Errorf("redisfence: %w", err)
	}
	if errors.As(err, &said) {
		return fmt.Errorf("redisfence: the client has sent it %d times by itself, and this answer is to the last: %w: %w", sent, fencing.ErrUnknownOutcome, cause(ctx, err))
	}
	return fmt.Errorf("redisfence: no answer: %w: %w", fencing.ErrUnknownOutcome, cause(ctx, err))
}

// cause is err, and why ctx ended if it did.
func cause(ctx context.Context, err error) error {
	if why := fencing.Ended(ctx); why != nil && !errors.Is(err, why) {
		return fmt.Errorf("%w: %w", why, err)
	}
	return err
}

func parseReply(answer []any) (reply, error) {
	texts := make([]string, 4)
	for i, a := range answer {
		if s, ok := a.(string); ok && i < len(texts) {
			texts[i] = s
		}
	}
	last, err := parseStamp(texts[1], texts[2])
	if err != nil || len(answer) < 3 {
		return reply{}, fmt.Errorf("redisfence: %w: a script answered with %.100q", fencing.ErrUnknownOutcome, answer)
	}
	return reply{what: texts[0], last: last, outcome: texts[3]}, nil
}
