package bubble_test

import (
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

func request(xid int32, op wire.Op, path string) []byte {
	e := wire.Encoder{Buf: wire.RequestHeader{Xid: xid, Op: op}.Append(nil)}
	e.String(path)
	e.Bool(false)
	return wire.AppendFrame(nil, e.Buf)
}

// hello opens a session on a new connection from a host.
func hello(b *bubble.B, host string) net.Conn {
	b.T.Helper()
	c, err := b.Dialer(host)("tcp", b.Server.Addr(), time.Second)
	require.NoError(b.T, err)
	b.Cleanup(func() { _ = c.Close() }) // again, where the test has closed it
	_, err = c.Write(wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)}.Append(nil)))
	require.NoError(b.T, err)
	_, err = wire.ReadFrame(c, wire.MaxFrame)
	require.NoError(b.T, err)
	return c
}

// asked returns what a host has sent after the handshake.
func asked(b *bubble.B, host string) (paths []string, xids []int32) {
	for _, r := range b.Server.From(host).Requests() {
		if r.Op != zktest.OpCreateSession {
			paths, xids = append(paths, r.Path), append(xids, r.Xid)
		}
	}
	return paths, xids
}

func TestWhatIsSentInOneInstant(t *testing.T) {
	all := []string{"/a", "/b", "/c", "/d"}
	play := func(t *testing.T, seed uint64, order []string) (paths []string) {
		bubble.Run(t, func(b *bubble.B) {
			for _, path := range all[:2] {
				require.NoError(b.T, b.Server.Create(path, nil))
			}
			c := hello(b, "x")
			for i, path := range order {
				_, err := c.Write(request(int32(i+1), wire.OpExists, path))
				require.NoError(b.T, err)
			}
			for range order {
				payload, err := wire.ReadFrame(c, wire.MaxFrame)
				require.NoError(b.T, err)
				h, err := wire.ParseReplyHeader(payload)
				require.NoError(b.T, err)
				want := wire.NoNode
				if slices.Contains(all[:2], order[h.Xid-1]) {
					want = wire.OK
				}
				require.Equal(b.T, want, h.Err, "the reply to %s", order[h.Xid-1])
			}
			var xids []int32
			paths, xids = asked(b, "x")
			require.Equal(b.T, []int32{1, 2, 3, 4}, xids)
		}, bubble.WithSeed(seed))
		return paths
	}

	t.Run("IsOrderedByTheSeedAndAnsweredToWhoAsked", func(t *testing.T) {
		seen := map[string]bool{}
		for seed := range uint64(20) {
			want := play(t, seed, all)
			require.ElementsMatch(t, all, want)
			for _, order := range [][]string{{"/d", "/c", "/b", "/a"}, {"/b", "/d", "/a", "/c"}} {
				require.Equal(t, want, play(t, seed, order))
			}
			seen[want[0]] = true
		}
		require.Len(t, seen, len(all), "each comes first with some seed")
	})

	t.Run("KeepsTheGoodbyeLast", func(t *testing.T) {
		for seed := range uint64(10) {
			bubble.Run(t, func(b *bubble.B) {
				c := hello(b, "x")
				_, err := c.Write(slices.Concat(request(1, wire.OpCloseSession, ""), request(2, wire.OpExists, "/a")))
				require.NoError(b.T, err)
				payload, err := wire.ReadFrame(c, wire.MaxFrame)
				require.NoError(b.T, err)
				h, err := wire.ParseReplyHeader(payload)
				require.NoError(b.T, err)
				require.EqualValues(b.T, 2, h.Xid)
			}, bubble.WithSeed(seed))
		}
	})

	t.Run("IsSentBeforeACloseAndAPingIsNot", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			c := hello(b, "x")
			_, err := c.Write(slices.Concat(request(1, wire.OpExists, "/a"), wire.AppendFrame(nil, wire.RequestHeader{Xid: wire.XidPing, Op: wire.OpPing}.Append(nil))))
			require.NoError(b.T, err)
			require.NoError(b.T, c.Close())
			_, err = c.Write([]byte("x"))
			require.ErrorIs(b.T, err, net.ErrClosed)
			time.Sleep(time.Second)
			_, xids := asked(b, "x")
			require.Equal(b.T, []int32{1}, xids)
		})
	})

	t.Run("PassesAsItIsIfItIsNoRequest", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			c, err := b.Dialer("x")("tcp", b.Server.Addr(), time.Second)
			require.NoError(b.T, err)
			for _, part := range []string{"ru", "ok"} {
				_, err = c.Write([]byte(part))
				require.NoError(b.T, err)
				time.Sleep(time.Millisecond)
			}
			answer, err := io.ReadAll(c)
			require.NoError(b.T, err)
			require.Equal(b.T, "imok", string(answer))
			require.NoError(b.T, c.Close())
		})
	})
}

// Nothing but what they say tells two apart who dial in one instant, so that is
// what decides who has which connection.
func TestWhoDialsInOneInstant(t *testing.T) {
	play := func(t *testing.T, order []string) (first string) {
		bubble.Run(t, func(b *bubble.B) {
			dial := b.Dialer("x")
			var all sync.WaitGroup
			for _, word := range order {
				all.Go(func() {
					c, err := dial("tcp", b.Server.Addr(), time.Second)
					if err != nil {
						b.T.Error(err)
						return
					}
					defer func() { _ = c.Close() }()                   // at the end of the test anyway
					_ = c.SetReadDeadline(time.Now().Add(time.Second)) // the connection is new
					r := wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)}
					if word == "known" {
						r.Session = 7
					}
					_, _ = c.Write(wire.AppendFrame(nil, r.Append(nil))) // the reply shows whether it went
					if _, err = wire.ReadFrame(c, wire.MaxFrame); err != nil {
						b.T.Error(err)
					}
				})
			}
			all.Wait()
			for _, r := range b.Server.Requests() {
				if r.Conn == 1 && r.Err != wire.OK {
					first = "known"
				}
			}
			require.Len(b.T, b.Server.Requests(), 2)
		})
		return first
	}
	want := play(t, []string{"known", "new"})
	for range 10 {
		require.Equal(t, want, play(t, []string{"new", "known"}))
	}

	t.Run("OneWhoHangsUpWithoutAWordTakesNobodysConnection", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			dial := b.Dialer("x")
			conns := make(chan net.Conn, 2)
			for range 2 {
				go func() {
					c, err := dial("tcp", b.Server.Addr(), time.Second)
					if err != nil {
						b.T.Error(err)
					}
					conns <- c
				}()
			}
			silent, c := <-conns, <-conns
			require.NoError(b.T, silent.Close())
			_, err := c.Write(wire.AppendFrame(nil, wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)}.Append(nil)))
			require.NoError(b.T, err)
			_, err = wire.ReadFrame(c, wire.MaxFrame)
			require.NoError(b.T, err)
			require.NoError(b.T, c.Close())
		})
	})

	t.Run("ThoseWithTheShorterTimeoutGoFirst", func(t *testing.T) {
		for range 20 {
			bubble.Run(t, func(b *bubble.B) {
				dial := b.Dialer("x")
				ports := make([]string, 3)
				var all sync.WaitGroup
				for i := range ports {
					all.Go(func() {
						c, err := dial("tcp", b.Server.Addr(), time.Duration(i+1)*time.Second)
						if err != nil {
							b.T.Error(err)
							return
						}
						ports[i] = c.LocalAddr().String()
						_ = c.Close() // nothing was sent
					})
				}
				all.Wait()
				require.IsIncreasing(b.T, ports)
			})
		}
	})

	t.Run("WhatFailsOneFailsAll", func(t *testing.T) {
		bubble.Run(t, func(b *bubble.B) {
			b.Net.Partition("x", b.Server.Addr())
			dial := b.Dialer("x")
			errs := make(chan error, 2)
			for range 2 {
				go func() {
					_, err := dial("tcp", b.Server.Addr(), time.Second)
					errs <- err
				}()
			}
			require.Error(b.T, <-errs)
			require.Error(b.T, <-errs)
		})
	})
}
