package zktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// nobody is a listener to which no client ever comes.
type nobody chan struct{}

func (n nobody) Accept() (net.Conn, error) { <-n; return nil, errors.New("closed") }
func (n nobody) Close() error              { close(n); return nil }
func (n nobody) Addr() net.Addr            { return memAddr("nobody:1") }

// unused is a connection on which nothing is read or written.
type unused struct{ net.Conn }

func (unused) Close() error                     { return nil }
func (unused) SetWriteDeadline(time.Time) error { return nil }

// desk is a server that is handed requests directly, so that what is measured is
// its own work and not the way there.
type desk struct {
	testing.TB
	srv   *Server
	conns []*conn
}

func newDesk(t testing.TB, clients int) *desk {
	s, err := Start(WithListener(make(nobody)), WithSessionTimeouts(time.Second, time.Hour))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	d := &desk{TB: t, srv: s}
	for range clients {
		d.join()
	}
	return d
}

// join opens a session and returns its connection.
func (d *desk) join() *conn {
	c := &conn{s: d.srv, nc: unused{}, number: len(d.conns) + 1, done: make(chan struct{}), out: newQueue(), account: newAccount()}
	d.srv.mu.Lock()
	d.srv.conns[c] = struct{}{}
	d.srv.unlock()
	d.conns = append(d.conns, c)
	d.srv.handle(c, wire.ConnectRequest{TimeoutMs: 3_600_000}.Append(nil))
	frame, _ := c.out.pop()
	require.NotNil(d, frame)
	return c
}

// ask has a client make a request and drops what it is told before the answer,
// which must be OK.
func (d *desk) ask(c *conn, op Op, body func(*wire.Encoder)) {
	d.srv.handle(c, request(1, op, body))
	for {
		frame, _ := c.out.pop()
		h, err := wire.ParseReplyHeader(frame[4:])
		require.NoError(d, err)
		if h.Xid == wire.XidEvent {
			continue
		}
		if h.Err != wire.OK && h.Err != wire.NoNode {
			require.Equal(d, wire.OK, h.Err, "%s", op)
		}
		return
	}
}

// drain drops what a client has been told.
func (c *conn) drain() (frames int) {
	for frame, _ := c.out.pop(); frame != nil; frame, _ = c.out.pop() {
		frames++
	}
	return frames
}

func creating(path string, flags int32) func(*wire.Encoder) {
	return func(e *wire.Encoder) {
		e.String(path)
		e.Buffer([]byte("data"))
		encodeACLs(e, []acl{{permAll, id{"world", "anyone"}}})
		e.Int32(flags)
	}
}

func deleting(path string) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path); e.Int32(-1) }
}

func seeing(path string, watch bool) func(*wire.Encoder) {
	return func(e *wire.Encoder) { e.String(path); e.Bool(watch) }
}

// children creates n nodes whose paths begin with parent.
func (d *desk) children(n int, parent string, name func(i int) string) {
	for i := range n {
		d.ask(d.conns[0], OpCreate, creating(parent+name(i), 0))
	}
}

// costs asserts that large, with a hundred times as much around it, takes at most
// ten times as long as small. They take turns, and the quickest rounds count:
// whatever else the machine does can only make a round longer. Nobody pays for the
// garbage that was made before his round.
func costs(t *testing.T, small, large func(i int)) {
	t.Helper()
	const rounds = 12
	var best [2]time.Duration
	for r := range rounds {
		for k, do := range []func(int){small, large} {
			runtime.GC()
			began := time.Now()
			do(r)
			if took := time.Since(began); r == 0 || took < best[k] {
				best[k] = took
			}
		}
	}
	ratio := float64(best[1]) / float64(best[0])
	t.Logf("%v and %v: %.2f", best[0], best[1], ratio)
	require.LessOrEqual(t, ratio, 10.0)
}

// What a request costs does not follow from how much else the server holds.
func TestScale(t *testing.T) {
	const few, many = 1000, 100_000
	seq := func(i int) string { return fmt.Sprintf("n-%010d", i) }

	t.Run("NodesUnderOneParent", func(t *testing.T) {
		small, large := newDesk(t, 1), newDesk(t, 1)
		for d, n := range map[*desk]int{small: few, large: many} {
			d.ask(d.conns[0], OpCreate, creating("/p", 0))
			d.children(n, "/p/", seq)
		}
		rng := rand.New(rand.NewPCG(1, 1))
		anywhere := func(d *desk, n int) func(int) {
			return func(round int) {
				for i := range 500 {
					path := fmt.Sprintf("/p/%s-%d-%d", seq(rng.IntN(n)), round, i)
					d.ask(d.conns[0], OpCreate, creating(path, 0))
					d.ask(d.conns[0], OpDelete, deleting(path))
				}
			}
		}
		t.Run("CreateAndDeleteAnywhere", func(t *testing.T) { costs(t, anywhere(small, few), anywhere(large, many)) })

		// As many come as go: what is listed below is still n of them.
		first := func(d *desk, n int) func(int) {
			return func(round int) {
				for i := range 80 {
					d.ask(d.conns[0], OpDelete, deleting("/p/"+seq(round*80+i)))
					d.ask(d.conns[0], OpCreate, creating("/p/"+seq(n+round*80+i), 0))
				}
			}
		}
		t.Run("DeleteTheFirst", func(t *testing.T) { costs(t, first(small, few), first(large, many)) })

		list := func(d *desk, times int) func(int) {
			return func(int) {
				for range times {
					d.ask(d.conns[0], OpGetChildren, seeing("/p", false))
				}
			}
		}
		t.Run("ListPerChild", func(t *testing.T) { costs(t, list(small, 300), list(large, 3)) })
	})

	t.Run("NodesEverywhere", func(t *testing.T) {
		small, large := newDesk(t, 1), newDesk(t, 1)
		for d, n := range map[*desk]int{small: few, large: many} {
			for i := range n / 100 {
				parent := "/" + seq(i)
				d.ask(d.conns[0], OpCreateContainer, creating(parent, 4))
				d.children(99, parent+"/", seq)
			}
		}
		work := func(d *desk, n int) func(int) {
			return func(round int) {
				for i := range 300 {
					path := fmt.Sprintf("/%s/%d-%d", seq(i%(n/100)), round, i)
					d.ask(d.conns[0], OpCreate, creating(path, 3))
					d.ask(d.conns[0], OpExists, seeing(path, true))
					d.ask(d.conns[0], OpCreate, creating(path, 0))
					d.ask(d.conns[0], OpDelete, deleting(path))
				}
			}
		}
		costs(t, work(small, few), work(large, many))
	})

	t.Run("WatchesOfOneConnection", func(t *testing.T) {
		const watches = 10_000
		small, large := newDesk(t, 2), newDesk(t, 2)
		for d, n := range map[*desk]int{small: 10, large: watches} {
			for i := range n {
				d.ask(d.conns[1], OpExists, seeing("/w-"+seq(i), true))
			}
			require.Equal(t, n, d.srv.Watches())
		}
		fire := func(d *desk) func(int) {
			return func(int) {
				for i := range 500 {
					path := "/w-" + seq(i%10)
					d.ask(d.conns[0], OpCreate, creating(path, 0))
					d.ask(d.conns[1], OpExists, seeing(path, true))
					d.ask(d.conns[0], OpDelete, deleting(path))
					d.ask(d.conns[1], OpExists, seeing(path, true))
				}
			}
		}
		costs(t, fire(small), fire(large))
	})

	t.Run("WatchesOnOneNode", func(t *testing.T) {
		const clients = 10_000
		small, large := newDesk(t, clients/10), newDesk(t, clients)
		fire := func(d *desk, times int) func(int) {
			return func(int) {
				for range times {
					d.ask(d.conns[0], OpCreate, creating("/w", 0))
					for _, c := range d.conns {
						d.ask(c, OpGetData, seeing("/w", true))
						d.ask(c, OpGetChildren, seeing("/w", true))
					}
					d.ask(d.conns[0], OpDelete, deleting("/w"))
					told := 0
					for _, c := range d.conns[1:] {
						told += c.drain()
					}
					require.Equal(d, len(d.conns)-1, told)
				}
			}
		}
		costs(t, fire(small, 10), fire(large, 1))
	})

	t.Run("Sessions", func(t *testing.T) {
		const sessions = 5000
		small, large := newDesk(t, sessions/100), newDesk(t, sessions)
		work := func(d *desk) func(int) {
			return func(round int) {
				for i := range 500 {
					c := d.conns[i%len(d.conns)]
					d.ask(c, OpPing, nil)
					d.ask(c, OpCreate, creating(fmt.Sprintf("/e-%d-%d", round, i), 1))
				}
				for range 100 {
					c := d.join()
					d.ask(c, OpCreate, creating("/mine", 1))
					d.ask(c, OpCloseSession, nil)
					d.srv.mu.Lock()
					delete(d.srv.conns, c)
					d.srv.unlock()
					d.conns = slices.Delete(d.conns, len(d.conns)-1, len(d.conns))
				}
			}
		}
		costs(t, work(small), work(large))
		for _, d := range []*desk{small, large} {
			d.srv.ExpireAll()
			require.Empty(t, d.srv.Sessions())
			intact(t, d.srv)
		}
	})
}
