package zktest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// What waits for a client that does not read is bounded, and nobody else waits
// with it.
func TestSlowReaders(t *testing.T) {
	big := func(e *wire.Encoder) {
		e.String("/big")
		e.Buffer(make([]byte, 1<<20-200))
		encodeACLs(e, []acl{{permAll, id{"world", "anyone"}}})
		e.Int32(0)
	}
	get := func(path string, watch bool) func(*wire.Encoder) {
		return func(e *wire.Encoder) { e.String(path); e.Bool(watch) }
	}

	t.Run("AskingWithoutReadingStopsTheAsker", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			s.witness.call(OpCreate, big)
			nc, c := s.join("slow")
			const asked = 100 // 100 MB: more than is kept for anybody
			for i := range asked {
				_, err := nc.Write(framed(request(int32(i), OpGetData, get("/big", false))))
				require.NoError(s, err)
			}
			s.promptly()
			require.Less(s, c.out.waiting(), backlog+wire.MaxFrame+1024)

			// Reading after all, it misses nothing.
			r := bufio.NewReader(nc)
			for i := range asked {
				payload, err := wire.ReadFrame(r, 64<<20)
				require.NoError(s, err)
				h, err := wire.ParseReplyHeader(payload)
				require.NoError(s, err)
				require.EqualValues(s, i, h.Xid)
			}
			s.promptly()
		})
	})

	t.Run("OneThatPingsAndNeverReadsLosesItsSession", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			s.witness.call(OpCreate, big)
			nc, c := s.join("slow")
			for i := range 100 {
				_, _ = nc.Write(framed(request(int32(i), OpGetData, get("/big", false))))
			}
			for range 25 {
				time.Sleep(time.Second)
				_, _ = nc.Write(framed(request(wire.XidPing, OpPing, nil)))
				s.promptly()
			}
			require.NotContains(s, connected(s.srv), c, "its session has expired after 10 s, and 10 s more are given to it to read")
		})
	})

	t.Run("EventsThatNobodyReadsEndTheConnection", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			nc, c := s.join("slow")
			path := func(i int) string { return fmt.Sprintf("/%0200000d", i) }
			const watches = maxQueued/200_000 + 50
			for i := range watches {
				_, err := nc.Write(framed(request(1, OpExists, get(path(i), true))))
				require.NoError(s, err)
				_, err = wire.ReadFrame(nc, wire.MaxFrame)
				require.NoError(s, err)
			}
			top := 0
			for i := range watches {
				require.False(s, i <= maxQueued/200_000 && s.closed(c), "after %d events", i)
				require.NoError(s, s.srv.Create(path(i), nil))
				time.Sleep(time.Millisecond)
				top = max(top, c.out.waiting())
			}
			require.LessOrEqual(s, top, maxQueued)
			require.True(s, s.closed(c))
			s.promptly()
		})
	})

	t.Run("AWordWhoseAnswerNobodyReadsIsForgotten", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			for i := range 40 { // twice what a connection takes unread
				s.witness.call(OpExists, get(fmt.Sprintf("/%050000d", i), true))
			}
			nc := s.dial("monitor")
			_, err := nc.Write([]byte("wchp"))
			require.NoError(s, err)
			time.Sleep(time.Second)
			require.Len(s, connected(s.srv), 2)
			time.Sleep(linger)
			require.Len(s, connected(s.srv), 1)
			s.promptly()
			for i := range 40 {
				require.NoError(s, s.srv.Create(fmt.Sprintf("/%050000d", i), nil))
			}
			s.witness.events(40)
		})
	})

	t.Run("AConnectionAtItsEndIsNotKeptForOneWhoDoesNotRead", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			s.witness.call(OpCreate, big)
			nc, c := s.join("slow")
			for i := range 5 {
				_, err := nc.Write(framed(request(int32(i), OpGetData, get("/big", false))))
				require.NoError(s, err)
			}
			_, err := nc.Write(framed(request(9, OpCloseSession, nil)))
			require.NoError(s, err)
			time.Sleep(linger - time.Second)
			require.Contains(s, connected(s.srv), c)
			time.Sleep(2 * time.Second)
			require.NotContains(s, connected(s.srv), c)
		})
	})
}

// Clients that say nothing, or start to say something, are given up as a real
// server gives them up: at the first multiple of 10 s that is 10 s after the
// last byte.
func TestSilentConnections(t *testing.T) {
	t.Run("AreGivenUp", func(t *testing.T) {
		for _, said := range []string{"", "\x00", "ru", "\x00\x00\x00\x2d\x00\x00"} {
			underSiege(t, func(s *siege) {
				time.Sleep(3 * time.Second)
				nc := s.dial("silent")
				_, err := nc.Write([]byte(said))
				require.NoError(s, err)
				require.InDelta(s, 17, s.untilEnd(nc).Seconds(), 0.1, "%q", said)
			})
		}
	})

	t.Run("EachByteIsASignOfLife", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			nc := s.dial("slow")
			for _, b := range framed(hello) {
				s.pass(9 * time.Second)
				_, err := nc.Write([]byte{b})
				require.NoError(s, err)
			}
			heard, ended := s.hear(nc)
			require.False(s, ended)
			require.Len(s, heard, 4+36)
			for _, b := range framed(request(3, OpPing, nil)) { // 12 bytes in less than the session's 10 s
				_, err := nc.Write([]byte{b})
				require.NoError(s, err)
				time.Sleep(700 * time.Millisecond)
			}
			heard, ended = s.hear(nc)
			require.False(s, ended)
			require.Len(s, heard, 4+wire.ReplyHeaderLen)
		})
	})

	t.Run("StayWhileTheServerStandsStill", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			nc := s.dial("silent")
			s.srv.Stall(true)
			time.Sleep(time.Hour)
			s.silent(nc)
			s.srv.Stall(false)
			require.LessOrEqual(s, s.untilEnd(nc), 21*time.Second)
		})
	})

	t.Run("HearNothingOfItInABlackHole", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			s.srv.From("lost").Blackhole(true)
			nc := s.dial("lost")
			_, err := nc.Write(framed(hello))
			require.NoError(s, err)
			s.pass(time.Hour)
			s.silent(nc)
			require.NoError(s, nc.Close())
		})
	})

	t.Run("HearOfItAfterAFreeze", func(t *testing.T) {
		underSiege(t, func(s *siege) {
			nc := s.dial("frozen")
			s.srv.From("frozen").Freeze(ToClient)
			s.pass(time.Hour)
			s.silent(nc)
			s.srv.From("frozen").Unfreeze()
			require.Less(s, s.untilEnd(nc), time.Second)
		})
	})
}

// join opens a session of 10 s and returns both ends of its connection.
func (s *siege) join(host string) (net.Conn, *conn) {
	s.Helper()
	nc := s.dial(host)
	_, err := nc.Write(framed(hello))
	require.NoError(s, err)
	_, err = wire.ReadFrame(nc, wire.MaxFrame)
	require.NoError(s, err)
	all := connected(s.srv)
	return nc, all[len(all)-1]
}

// promptly asserts that the honest client waits for nobody else: an answer
// takes a round trip, 600 µs at most.
func (s *siege) promptly() {
	s.Helper()
	asked := time.Now()
	s.witness.call(OpExists, func(e *wire.Encoder) { e.String("/"); e.Bool(false) })
	require.Less(s, time.Since(asked), time.Millisecond)
}

// untilEnd returns how long it takes until the server closes a connection.
func (s *siege) untilEnd(nc net.Conn) time.Duration {
	s.Helper()
	began := time.Now()
	require.NoError(s, nc.SetReadDeadline(began.Add(time.Hour)))
	_, err := nc.Read(make([]byte, 1))
	require.Equal(s, io.EOF, err)
	return time.Since(began)
}

// silent asserts that nothing has come for a client, not even an end.
func (s *siege) silent(nc net.Conn) {
	s.Helper()
	heard, ended := s.hear(nc)
	require.Empty(s, heard)
	require.False(s, ended)
}

func (s *siege) closed(c *conn) bool {
	s.srv.mu.Lock()
	defer s.srv.unlock()
	_, open := s.srv.conns[c]
	return !open
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
