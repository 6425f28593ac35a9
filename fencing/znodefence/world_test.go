package znodefence_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/znodefence"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

var (
	_ znodefence.Owner = (*zklock.Hold)(nil)
	_ znodefence.Owner = (*election.Term)(nil)
)

const report = "/report"

// world is a server with one znode of data, and a guard of it.
type world struct {
	*testing.T
	*zktest.Server
	client *zkconn.Client
	guard  *znodefence.Guard
	ran    int // times that a command's function has run
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, Server: zktest.New(t)}
	w.client, w.guard = w.another()
	require.NoError(t, w.Create(report, []byte("empty")))
	return w
}

func (w *world) another() (*zkconn.Client, *znodefence.Guard) {
	w.Helper()
	c, err := zkconn.Dial(w.Context(), []string{w.Addr()}, zkconn.WithSessionTimeout(4*time.Second))
	require.NoError(w, err)
	w.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx) // the server may be gone by now
	})
	g, err := znodefence.New(c, "/guards")
	require.NoError(w, err)
	return c, g
}

// publish appends what to the report; between runs once it has read.
func (w *world) publish(ctx context.Context, g *znodefence.Guard, owner znodefence.Owner, s fencing.Stamp, what string, between func()) error {
	return g.Do(ctx, znodefence.Command{Resource: "the report", Stamp: s, Owner: owner}, func(ctx context.Context, tx *znodefence.Tx) error {
		w.ran++
		text, read, err := tx.Get(ctx, report)
		if err != nil {
			return err
		}
		if between != nil {
			between()
		}
		tx.Set(report, []byte(string(text)+" "+what), read)
		return nil
	})
}

func (w *world) write(s fencing.Stamp, what string) error {
	return w.publish(w.Context(), w.guard, nil, s, what, nil)
}

func (w *world) reportIs(want string) {
	w.Helper()
	text, _, err := w.Get(report)
	require.NoError(w, err)
	require.Equal(w, want, string(text))
}

func (w *world) lastIs(want fencing.Stamp) {
	w.Helper()
	last, err := w.guard.Last(w.Context(), "the report")
	require.NoError(w, err)
	require.Equal(w, want, last)
}

// lock is a hold of a client of its own, whose keeper's proofs are multis too.
func (w *world) lock() *zklock.Hold {
	w.Helper()
	c, _ := w.another()
	m, err := zklock.New(c, "/locks/report")
	require.NoError(w, err)
	h, err := m.Lock(w.Context())
	require.NoError(w, err)
	return h
}

// ours is the faults of the guard's own session.
func (w *world) ours() *zktest.Target {
	w.Helper()
	s, err := w.client.Session(w.Context())
	require.NoError(w, err)
	return w.For(s.ID())
}

func at(t *testing.T, token, seq uint64) fencing.Stamp {
	t.Helper()
	tok, err := fencing.FromUint64(token)
	require.NoError(t, err)
	return fencing.Stamp{Token: tok, Seq: seq}
}

// stat is one that was read.
func (w *world) stat(path string) *zk.Stat {
	w.Helper()
	s, err := w.client.Session(w.Context())
	require.NoError(w, err)
	stat, err := zkconn.Call(w.Context(), s, func(c *zk.Conn) (*zk.Stat, error) {
		_, stat, err := c.Get(path)
		return stat, err
	})
	require.NoError(w, err)
	return stat
}

// node is the full name of the only contender's.
func (w *world) node() string {
	w.Helper()
	names := w.Children("/locks/report")
	require.Len(w, names, 1, strings.Join(names, " "))
	return "/locks/report/" + names[0]
}
