package redisfence_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

// scene is a guard behind a proxy and one that is not, on a resource of its own.
type scene struct {
	*testing.T
	*proxy
	near, far *redisfence.Guard
	client    *redis.Client
	resource  string
	script    redisfence.Script
}

func newScene(t *testing.T, retries int) *scene {
	s := &scene{T: t, proxy: newProxy(t), resource: "lost/" + t.Name(), script: lua(t, `return redis.call('RPUSH', keys[1], args[1])`)}
	s.client, s.near = connect(t, &redis.Options{})
	require.NoError(t, s.client.FlushAll(t.Context()).Err())
	_, s.far = connect(t, &redis.Options{Addr: s.addr(), MaxRetries: retries, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
	s.apply(s.near, at(t, 10, 1), nil) // the server knows the script from here on
	return s
}

func (s *scene) run(g *redisfence.Guard, st fencing.Stamp) error {
	_, err := g.Run(s.Context(), redisfence.Command{Resource: s.resource, Stamp: st}, s.script, []string{redisfence.Key(s.resource, "list")}, st.String())
	return err
}

func (s *scene) apply(g *redisfence.Guard, st fencing.Stamp, want error) {
	s.Helper()
	if err := s.run(g, st); want == nil {
		require.NoError(s, err)
	} else {
		require.ErrorIs(s, err, want)
	}
}

func (s *scene) has(want ...string) {
	s.Helper()
	entries, err := s.client.LRange(s.Context(), redisfence.Key(s.resource, "list"), 0, -1).Result()
	require.NoError(s, err)
	require.Equal(s, want, entries)
}

func TestALostAnswerIsAnUnknownOutcome(t *testing.T) {
	s := newScene(t, -1)
	s.replies.Store(1)
	s.apply(s.far, at(t, 10, 2), fencing.ErrUnknownOutcome)
	s.apply(s.far, at(t, 10, 2), fencing.ErrDuplicate) // found out
	s.requests.Store(1)
	s.apply(s.far, at(t, 10, 3), fencing.ErrUnknownOutcome)
	s.has("0xa:1", "0xa:2")
	s.apply(s.far, at(t, 10, 3), nil)
	s.has("0xa:1", "0xa:2", "0xa:3")
	s.replies.Store(1)
	require.ErrorIs(t, s.far.Raise(t.Context(), s.resource, at(t, 20, 0).Token), fencing.ErrUnknownOutcome)
	require.NoError(t, s.far.Raise(t.Context(), s.resource, at(t, 20, 0).Token))
}

// go-redis sends again by itself, and the second try is a duplicate of the first.
func TestARetryOfTheClientsOwnIsNoSecondCommand(t *testing.T) {
	s := newScene(t, 3)
	s.replies.Store(2)
	s.apply(s.far, at(t, 10, 2), nil)
	s.has("0xa:1", "0xa:2")
	s.apply(s.far, at(t, 10, 2), fencing.ErrDuplicate)

	// A newer owner has come between the two: "stale" alone would say that it was not
	// applied.
	newer := make(chan error, 1)
	before := func() { newer <- s.run(s.near, at(t, 20, 1)) }
	s.before.Store(&before)
	s.replies.Store(1)
	err := s.run(s.far, at(t, 10, 3))
	require.NoError(t, <-newer)
	require.ErrorIs(t, err, fencing.ErrStale)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.has("0xa:1", "0xa:2", "0xa:3", "0x14:1")
	err = s.run(s.far, at(t, 10, 4))
	require.ErrorIs(t, err, fencing.ErrStale)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)

	s.before.Store(nil)
	s.replies.Store(1)
	require.NoError(t, s.far.Override(t.Context(), s.resource, at(t, 5, 0), "Ada", "rebuilt"))
	records, err := s.near.Overrides(t.Context(), s.resource)
	require.NoError(t, err)
	require.Len(t, records, 1)
}

// The second try was answered as applied, with an empty outcome: whoever asked for the
// length of the list built on "" what the script had returned as 2.
func TestARetryOfTheClientsOwnHasTheOutcomeOfTheFirst(t *testing.T) {
	s := newScene(t, 3)
	ctx := t.Context()
	run := func(g *redisfence.Guard, st fencing.Stamp) (string, error) {
		return g.Run(ctx, redisfence.Command{Resource: s.resource, Stamp: st}, s.script, []string{redisfence.Key(s.resource, "list")}, st.String())
	}
	s.replies.Store(2)
	outcome, err := run(s.far, at(t, 10, 2))
	require.NoError(t, err)
	require.Equal(t, "2", outcome)
	s.has("0xa:1", "0xa:2")

	// The outcome goes with the Stamp that it is of: a raised or overridden memory
	// has none.
	memory := "zkfence:{" + s.resource + "}"
	require.Equal(t, "2", s.client.HGet(ctx, memory, "outcome").Val())
	require.NoError(t, s.near.Override(ctx, s.resource, at(t, 10, 3), "Ada", "rebuilt"))
	require.Empty(t, s.client.HGet(ctx, memory, "outcome").Val())
	_, err = run(s.near, at(t, 10, 4))
	require.NoError(t, err)
	require.Equal(t, "3", s.client.HGet(ctx, memory, "outcome").Val())
	require.NoError(t, s.near.Raise(ctx, s.resource, at(t, 20, 0).Token))
	require.Empty(t, s.client.HGet(ctx, memory, "outcome").Val())
}

// What the server says to the second try says nothing about the first.
func TestAServersErrorAfterALostAnswerIsUnknown(t *testing.T) {
	s := newScene(t, 1)
	s.replies.Store(1)
	s.errors.Store(1)
	err := s.run(s.far, at(t, 10, 2))
	require.ErrorContains(t, err, "made up")
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	s.has("0xa:1", "0xa:2")

	s.errors.Store(1)
	err = s.run(s.far, at(t, 10, 3))
	require.ErrorContains(t, err, "made up")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, "of the only try")
}

func TestAServerThatCannotBeReachedHasAppliedNothing(t *testing.T) {
	s := newScene(t, 1)
	s.Listener.Close()
	_, g := connect(t, &redis.Options{Addr: s.addr(), MaxRetries: -1})
	err := s.run(g, at(t, 10, 2))
	require.ErrorContains(t, err, "nothing was sent")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
}

// A server that was restarted, or another one after a failover, has not seen the
// script.
func TestAScriptThatTheServerHasNotSeenIsSentWhole(t *testing.T) {
	s := newScene(t, -1)
	s.apply(s.far, at(t, 10, 2), nil)
	require.EqualValues(t, 1, s.scripts.Load(), "one round trip")
	require.NoError(t, s.client.ScriptFlush(t.Context()).Err())
	s.apply(s.far, at(t, 10, 3), nil)
	require.EqualValues(t, 3, s.scripts.Load())
	s.has("0xa:1", "0xa:2", "0xa:3")
}

// The context has ended with another resource's refusal while the answer was lost: it
// became this one's, and a write that was applied was told to be refused.
func TestALostAnswerIsUnknownWhateverHasEndedTheContext(t *testing.T) {
	for _, highest := range []fencing.Stamp{at(t, 10, 2), at(t, 20, 1)} {
		s := newScene(t, 3)
		ctx, cancel := context.WithCancelCause(t.Context())
		before := func() { cancel(&fencing.StaleError{Resource: "another", Presented: at(t, 10, 2), Highest: highest}) }
		s.before.Store(&before)
		s.replies.Store(1)
		_, err := s.far.Run(ctx, redisfence.Command{Resource: s.resource, Stamp: at(t, 10, 2)}, s.script, []string{redisfence.Key(s.resource, "list")}, "0xa:2")
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.NotErrorIs(t, err, fencing.ErrStale)
		require.NotErrorIs(t, err, fencing.ErrDuplicate)
		require.ErrorContains(t, err, `"another"`)
		s.has("0xa:1", "0xa:2")
	}
}

// An Override is on its way for so long that its operator sends it again. Landing after
// what has been written since, it would let an older owner in once more, by a record that
// nobody has decided on.
func TestALateOverrideChangesNothing(t *testing.T) {
	s := newScene(t, -1)
	_, far := connect(t, &redis.Options{Addr: s.addr(), MaxRetries: -1, ReadTimeout: 100 * time.Millisecond})
	override := func() error { return far.Override(t.Context(), s.resource, at(t, 1, 0), "Ada", "rebuilt") }
	s.holds.Store(1)
	require.ErrorIs(t, override(), fencing.ErrUnknownOutcome)
	require.NoError(t, override())
	s.apply(s.near, at(t, 3, 1), nil)
	s.release(t)
	s.apply(s.near, at(t, 2, 2), fencing.ErrStale)
	records, err := s.near.Overrides(t.Context(), s.resource)
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.Equal(t, at(t, 10, 1), records[0].From)
}

// The client sends again by itself, and the second try fails in the script. The first one
// comes, and does not.
func TestACommandThatFailsTheSecondTimeIsUnknown(t *testing.T) {
	s := newScene(t, -1)
	client, far := connect(t, &redis.Options{Addr: s.addr(), MaxRetries: 1, MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond, ReadTimeout: 100 * time.Millisecond})
	fails := redisfence.Key(s.resource, "fails")
	require.NoError(t, client.Set(t.Context(), fails, "1", 0).Err())
	script := lua(t, `
		if redis.call('GET', keys[2]) then return redis.error_reply('not now') end
		return redis.call('RPUSH', keys[1], args[1])`)
	c := redisfence.Command{Resource: s.resource, Stamp: at(t, 10, 2)}
	run := func() error {
		_, err := far.Run(t.Context(), c, script, []string{redisfence.Key(s.resource, "list"), fails}, "0xa:2")
		return err
	}
	var failed *redisfence.CommandError
	require.ErrorAs(t, run(), &failed) // the server knows the script from here on
	s.holds.Store(1)
	err := run()
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorAs(t, err, &failed)
	require.NoError(t, client.Del(t.Context(), fails).Err())
	s.release(t)
	s.has("0xa:1", "0xa:2")
}

// A field that somebody has removed was taken for a resource that nobody has come to.
func TestADamagedMemoryLetsNobodyIn(t *testing.T) {
	s := newScene(t, -1)
	memory := "zkfence:{" + s.resource + "}"
	for name, damage := range map[string]func() error{
		"NoToken": func() error { return s.client.HDel(t.Context(), memory, "token").Err() },
		"NoSeq":   func() error { return s.client.HDel(t.Context(), memory, "seq").Err() },
		"Foreign": func() error { return s.client.HSet(t.Context(), memory, "foo", "bar").Err() },
		"Huge": func() error {
			return s.client.HSet(t.Context(), memory, "token", "9999999999999999999", "seq", "00000000000000000000").Err()
		},
		"AString": func() error { return s.client.Set(t.Context(), memory, "x", 0).Err() },
	} {
		require.NoError(t, s.client.Del(t.Context(), memory).Err())
		if name != "Foreign" {
			s.apply(s.near, at(t, 10, 1), nil)
		}
		require.NoError(t, damage())
		err := s.run(s.near, at(t, 3, 1))
		require.ErrorContains(t, err, "is no memory of a guard", name)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome, name)
		require.ErrorContains(t, s.near.Raise(t.Context(), s.resource, at(t, 3, 0).Token), "is no memory of a guard", name)
		_, err = s.near.Last(t.Context(), s.resource)
		require.Error(t, err, name)
		require.Error(t, s.near.Override(t.Context(), s.resource, at(t, 3, 0), "Ada", "why"), name)
	}
}
