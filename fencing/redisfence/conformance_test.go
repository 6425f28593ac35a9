package redisfence_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// store is a real Redis, behind a proxy. Its commands append to lists.
type store struct {
	*proxy
	append  redisfence.Script
	retries int // of the client's own
}

// Restart is a crash: with appendfsync always nothing that was answered may be gone.
func (s store) Restart(ctx context.Context) error {
	c := redis.NewClient(&redis.Options{Addr: s.to, MaxRetries: -1})
	err := c.Do(ctx, "DEBUG", "CRASH-AND-RECOVER").Err() // its answer does not come
	var said redis.Error
	if errors.As(err, &said) {
		return errors.Join(err, c.Close())
	}
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for c.Ping(ctx).Err() != nil {
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), c.Close())
		}
	}
	return c.Close()
}

func (s store) Open(context.Context) (fencetest.Guard, error) {
	c := redis.NewClient(&redis.Options{Addr: s.addr(), MaxRetries: s.retries})
	g, err := redisfence.New(c, redisfence.Options{})
	return &guard{g, c, s}, err
}

type guard struct {
	*redisfence.Guard
	client *redis.Client
	store  store
}

func (g *guard) Close() error { return g.client.Close() }

func (g *guard) LoseNextAnswer() { g.store.replies.Store(1) }

func (g *guard) Do(ctx context.Context, c fencetest.Command) (string, error) {
	fail := ""
	if c.Fail {
		fail = fencetest.ErrCommand.Error()
	}
	return g.Run(ctx, redisfence.Command{Resource: c.Resource, Stamp: c.Stamp, OpID: c.OpID}, g.store.append,
		[]string{redisfence.Key(c.Resource, "entries")}, c.Entry, c.Outcome, fail)
}

func (g *guard) Read(ctx context.Context, resource string) ([]string, fencing.Stamp, error) {
	last, err := g.Last(ctx, resource)
	if err != nil {
		return nil, last, err
	}
	entries, err := g.client.LRange(ctx, redisfence.Key(resource, "entries"), 0, -1).Result()
	if len(entries) == 0 {
		entries = nil
	}
	return entries, last, err
}

// A client that sends again by itself finds out what became of a lost command, and
// its guard has the answer.
func TestAGuardKeepsTheRule(t *testing.T) {
	server(t) // skips
	body := lua(t, `
		if args[3] ~= '' then return redis.error_reply(args[3]) end
		redis.call('RPUSH', keys[1], args[1])
		return args[2]`)
	for name, retries := range map[string]int{"WithoutRetries": -1, "WithTheClientsRetries": 3} {
		t.Run(name, func(t *testing.T) {
			fencetest.Run(t, fencetest.Subject{
				New: func(tb fencetest.TB) fencetest.Store {
					p := newProxy(tb.(*testing.T))
					c := redis.NewClient(&redis.Options{Addr: p.to})
					require.NoError(tb, c.FlushAll(tb.Context()).Err())
					require.NoError(tb, c.Close())
					return store{p, body, retries}
				},
				OpIDs: true, LosesAnswers: true,
			})
		})
	}
}
