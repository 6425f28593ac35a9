package redisfence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/redisfence"
)

func TestSet(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	ctx := t.Context()
	const resource = "set"
	key := redisfence.Key(resource, "report")
	require.NoError(t, c.FlushAll(ctx).Err())
	cmd := func(token, seq uint64) redisfence.Command {
		return redisfence.Command{Resource: resource, Stamp: at(t, token, seq)}
	}
	require.NoError(t, g.Set(ctx, cmd(10, 1), key, "a"))
	require.ErrorIs(t, g.Set(ctx, cmd(9, 1), key, "late"), fencing.ErrStale)
	require.ErrorIs(t, g.Set(ctx, cmd(10, 1), key, "again"), fencing.ErrDuplicate)
	require.Equal(t, "a", c.Get(ctx, key).Val())
	require.NoError(t, g.Set(ctx, cmd(11, 1), key, []byte("b")))
	require.Equal(t, "b", c.Get(ctx, key).Val())
}

func TestOutcomesAndFailures(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	require.NoError(t, c.Set(ctx, redisfence.Key("r", "text"), "x", 0).Err())
	seq := uint64(0)
	run := func(body string) (string, error) {
		return g.Run(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, seq+1)}, lua(t, body), []string{redisfence.Key("r", "text"), redisfence.Key("r", "n")}, 7)
	}
	for body, why := range map[string]string{
		"error('no report today')":                         "no report today",
		"return redis.error_reply('NOTYET come back')":     "come back",
		"redis.call('LPUSH', keys[1], 'x')":                "WRONGTYPE",
		"return {err='by hand'}":                           "by hand",
		"error({})":                                        "",
		"return redis.call('SET', keys[2], unknown.thing)": "unknown",
	} {
		_, err := run(body)
		var failed *redisfence.CommandError
		require.ErrorAs(t, err, &failed, body)
		require.ErrorContains(t, err, why)
	}
	last, err := g.Last(ctx, "r")
	require.NoError(t, err)
	require.Equal(t, at(t, 10, 0), last)
	for body, want := range map[string]string{
		"return 'text'":                                  "text",
		"return redis.call('SET', keys[2], 1)":           "OK",
		"return redis.call('INCRBY', keys[2], args[1])":  "",
		"return 9007199254740991":                        "9007199254740991",
		"return nil":                                     "",
		"return false":                                   "",
		"return {1, 2}":                                  "",
		"return redis.call('GET', keys[1]) -- a comment": "x",
	} {
		got, err := run(body)
		seq++
		require.NoError(t, err, body)
		if strings.Contains(body, "INCRBY") {
			require.NotEmpty(t, got)
			continue
		}
		require.Equal(t, want, got, body)
	}
	_, err = run("this is no Lua")
	require.ErrorContains(t, err, "compiling")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
}

// A command that spoils its own memory cannot be taken back.
func TestACommandThatSpoilsItsMemoryIsUnknown(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	cmd := redisfence.Command{Resource: "spoilt", Stamp: at(t, 10, 1)}
	_, err := g.Run(ctx, cmd, lua(t, `redis.call('SET', 'zkfence:{spoilt}', 'x')`), nil)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	_, err = g.Run(ctx, cmd, lua(t, `return 1`), nil)
	require.ErrorContains(t, err, "zkfence:{spoilt}, a string, is no memory of a guard")
	require.NoError(t, c.Del(ctx, "zkfence:{spoilt}").Err())
	require.NoError(t, c.HSet(ctx, "zkfence:{spoilt}", "token", "9").Err())
	_, err = g.Run(ctx, cmd, lua(t, `return 1`), nil)
	require.ErrorContains(t, err, "zkfence:{spoilt}, a hash, is no memory of a guard")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	_, err = g.Last(ctx, "spoilt")
	require.ErrorContains(t, err, "19 digits")
}

// The command had run and Redis takes nothing back, then the note of its operation ID
// failed: the server's error was told as that of a command that was not applied, and
// whoever believed it paid twice.
func TestAnErrorBehindTheCommandIsUnknown(t *testing.T) {
	c, _ := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	undo := context.WithoutCancel(ctx)
	require.NoError(t, c.Do(ctx, "ACL", "SETUSER", "nolist", "on", "nopass", "~*", "+@all", "-rpush").Err())
	t.Cleanup(func() {
		again := redis.NewClient(&redis.Options{Addr: server(t)})
		require.NoError(t, again.Do(undo, "ACL", "DELUSER", "nolist").Err())
		require.NoError(t, again.Close())
	})
	_, g := connect(t, &redis.Options{Username: "nolist", Password: "any"})
	key := redisfence.Key("r", "n")
	pay := func(g *redisfence.Guard, seq uint64) (string, error) {
		return g.Run(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, seq), OpID: "pay"}, lua(t, `return redis.call('INCR', keys[1])`), []string{key})
	}
	_, err := pay(g, 1)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Equal(t, "1", c.Get(ctx, key).Val())
	outcome, err := pay(g, 2)
	require.NoError(t, err, "what was noted before the error is known")
	require.Equal(t, "1", outcome)
	require.Equal(t, "1", c.Get(ctx, key).Val())
}

// The list of operations held something else: that was found behind the command,
// where it is too late, and can be found before.
func TestASpoiltOrderIsFoundBeforeTheCommand(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	require.NoError(t, c.Set(ctx, "zkfence:{r}:order", "x", 0).Err())
	key := redisfence.Key("r", "n")
	_, err := g.Run(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, 1), OpID: "pay"}, lua(t, `return redis.call('INCR', keys[1])`), []string{key})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.Zero(t, c.Exists(ctx, key).Val())
}

// A memory that is full, and a replica that was taken for the primary.
func TestAServerThatRefusesWritesChangesNothing(t *testing.T) {
	c, g := connect(t, &redis.Options{MaxRetries: -1})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	key := redisfence.Key("r", "x")
	write := func() error { return g.Set(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, 1)}, key, "x") }
	undo := context.WithoutCancel(ctx)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "1").Err())
	t.Cleanup(func() {
		again := redis.NewClient(&redis.Options{Addr: server(t)})
		require.NoError(t, again.ConfigSet(undo, "maxmemory", "0").Err())
		require.NoError(t, again.SlaveOf(undo, "NO", "ONE").Err())
		require.NoError(t, again.Close())
	})
	err := write()
	require.ErrorContains(t, err, "OOM")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.NoError(t, c.ConfigSet(ctx, "maxmemory", "0").Err())
	require.Zero(t, c.Exists(ctx, key, "zkfence:{r}").Val())

	require.NoError(t, c.SlaveOf(ctx, "127.0.0.1", "1").Err())
	err = write()
	require.ErrorContains(t, err, "READONLY")
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	_, again := connect(t, &redis.Options{MinRetryBackoff: time.Millisecond, MaxRetryBackoff: time.Millisecond})
	err = again.Set(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, 1)}, key, "x")
	require.ErrorContains(t, err, "READONLY")
	require.ErrorContains(t, err, "sent it 4 times by itself")
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.NoError(t, c.SlaveOf(ctx, "NO", "ONE").Err())
	require.Zero(t, c.Exists(ctx, key, "zkfence:{r}").Val())
	require.NoError(t, write())
}

func TestOperationsAreBounded(t *testing.T) {
	c, _ := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	g, err := redisfence.New(c, redisfence.Options{MaxOps: 2})
	require.NoError(t, err)
	run := func(seq uint64, op string) string {
		out, err := g.Run(ctx, redisfence.Command{Resource: "r", Stamp: at(t, 10, seq), OpID: op}, lua(t, `return args[1]`), nil, seq)
		require.NoError(t, err)
		return out
	}
	for i, op := range []string{"a", "b", "c"} {
		run(uint64(i)+1, op)
	}
	require.Equal(t, "2", run(4, "b"))
	require.Equal(t, "3", run(4, "c"))
	require.Equal(t, "4", run(4, "a"), "forgotten, so run again")
	require.EqualValues(t, 2, c.HLen(ctx, "zkfence:{r}:ops").Val())
}

// All keys of a resource are in one slot of a cluster, whatever its name.
func TestKeysOfAResourceAreOnOneNode(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	require.NoError(t, c.FlushAll(t.Context()).Err())
	for resource, want := range map[string]string{
		"r": "{r}:x", "a}b": "{a%7Db}:x", "{a": "{%7Ba}:x", "}": "{%7D}:x", "%7D": "{%257D}:x",
	} {
		require.Equal(t, want, redisfence.Key(resource, "x"))
		require.NoError(t, g.Raise(t.Context(), resource, at(t, 1, 0).Token))
		slot := c.ClusterKeySlot(t.Context(), want)
		if slot.Err() != nil { // a server without cluster support does not say
			require.ErrorContains(t, slot.Err(), "cluster")
			continue
		}
		require.Equal(t, slot.Val(), c.ClusterKeySlot(t.Context(), "zkfence:{"+strings.TrimPrefix(strings.TrimSuffix(want, ":x"), "{")).Val())
	}
}

// A Ring takes a shard that does not answer for gone and asks another, which has never
// heard of the resource: {12,1} was accepted, its shard fell silent, and a second
// later {10,1} was accepted too.
func TestARingIsRefused(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1", "b": "127.0.0.1:2"}})
	defer func() { require.NoError(t, ring.Close()) }()
	_, err := redisfence.New(ring, redisfence.Options{})
	require.ErrorContains(t, err, "Ring")
}

// go-redis finds out while it writes that it cannot write an argument, behind ours that
// counted as sent: an unknown outcome of a command of which no server had the end. So
// does a large one before it, which is on its way by then.
func TestAnArgumentThatCannotBeWrittenIsNotSent(t *testing.T) {
	c, g := connect(t, &redis.Options{})
	ctx := t.Context()
	require.NoError(t, c.FlushAll(ctx).Err())
	cmd := redisfence.Command{Resource: "r", Stamp: at(t, 10, 1)}
	key := redisfence.Key("r", "x")
	for _, before := range []string{"", strings.Repeat("x", 1<<20)} {
		_, err := g.Run(ctx, cmd, lua(t, `return redis.call('SET', keys[1], args[1])`), []string{key}, before, struct{}{})
		require.ErrorContains(t, err, "nothing was sent")
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	}
	require.Zero(t, c.Exists(ctx, key, "zkfence:{r}").Val())
	outcome, err := g.Run(ctx, cmd, lua(t, `return #args .. args[1] .. tostring(args[2])`), nil, "only")
	require.NoError(t, err)
	require.Equal(t, "1onlynil", outcome, "what counts tries is no argument of the script")
}

func TestBadInputIsNotSent(t *testing.T) {
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { require.NoError(t, c.Close()) }()
	g, err := redisfence.New(c, redisfence.Options{})
	require.NoError(t, err)
	good := redisfence.Command{Resource: "r", Stamp: at(t, 10, 1)}
	s := lua(t, "return 1")
	run := func(spoil func(*redisfence.Command)) error {
		bad := good
		spoil(&bad)
		_, err := g.Run(t.Context(), bad, s, nil)
		return err
	}
	require.ErrorIs(t, run(func(c *redisfence.Command) { c.Resource = "" }), fencing.ErrBadResource)
	require.ErrorIs(t, run(func(c *redisfence.Command) { c.OpID = "\n" }), fencing.ErrBadOpID)
	require.ErrorIs(t, run(func(c *redisfence.Command) { c.Stamp = fencing.Stamp{Seq: 1} }), fencing.ErrZeroToken)
	require.ErrorIs(t, g.Raise(t.Context(), "r", fencing.Token{}), fencing.ErrZeroToken)
	require.ErrorIs(t, g.Raise(t.Context(), "\x00", good.Stamp.Token), fencing.ErrBadResource)
	require.Error(t, g.Override(t.Context(), "r", good.Stamp, "", "why"))
	_, err = g.Run(t.Context(), good, redisfence.Script{}, nil)
	require.ErrorContains(t, err, "NewScript")
	_, err = redisfence.NewScript(" \n")
	require.ErrorContains(t, err, "empty")
	_, err = redisfence.New(nil, redisfence.Options{})
	require.ErrorContains(t, err, "client is nil")
	_, err = redisfence.New((*redis.Client)(nil), redisfence.Options{})
	require.ErrorContains(t, err, "client is nil")
	_, err = redisfence.New(c, redisfence.Options{MaxOps: -1})
	require.ErrorContains(t, err, "MaxOps = -1")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Run(ended, good, s, nil)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
}
