package zktest_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// What comes back through a proxy is what comes back without one, to garbage
// too; it falls over nothing, and others are still served.
func TestProxyPassesGarbage(t *testing.T) {
	s := zktest.New(t, zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute))
	p := zktest.NewProxy(t, s.Addr())
	witness := connectRaw(t, p.Addr())
	t.Run("sent", func(t *testing.T) {
		for _, g := range garbage {
			t.Run(g.name, func(t *testing.T) {
				t.Parallel()
				want := g.want
				if g.name == "AboveTheLimit" {
					want = "stays" // a server is shown whole frames, and the limit is its own
				}
				require.Equal(t, want, whatComesBack(t, p.Addr(), g.sent, want))
			})
		}
	})
	require.Equal(t, wire.OK, witness.must(wire.OpExists, watched("/", false)).Err)
}

func TestProxyPassesWords(t *testing.T) {
	inFrontOfEach(t, "AskedOfTheServer", func(t *testing.T, w world) {
		for word, want := range map[string]string{"ruok": "imok", "isro": "rw", "srvr": "Mode: standalone", "conf": "tickTime="} {
			c, err := net.Dial("tcp", w.addr)
			require.NoError(t, err)
			// A letter at a time.
			for _, b := range []byte(word) {
				_, err = c.Write([]byte{b})
				require.NoError(t, err)
			}
			require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
			require.Contains(t, readAll(t, c), want)
			require.NoError(t, c.Close())
		}
	})
}

// A server that answers with garbage is passed on until it makes no sense, and
// never costs more memory than has come.
func TestProxyOfAServerThatMakesNoSense(t *testing.T) {
	for name, answer := range map[string]string{
		"ANegativeLength":   "\xff\xff\xff\xff and more",
		"AHugeLength":       "\x7f\xff\xff\xff",
		"ALargeClaim":       "\x03\xff\xff\xff",
		"AnEmptyFrame":      "\x00\x00\x00\x00",
		"AShortHandshake":   "\x00\x00\x00\x05hello",
		"TwoShortReplies":   "\x00\x00\x00\x05hello\x00\x00\x00\x01x",
		"HalfAFrame":        "\x00\x00\x00\x20half",
		"NothingAtAll":      "",
		"AnEventOfNonsense": "\x00\x00\x00\x05hello\x00\x00\x00\x11\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00x",
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			served := make(chan struct{})
			go func() {
				defer close(served)
				for range 16 {
					c, err := ln.Accept()
					if err != nil {
						return
					}
					_, _ = io.ReadFull(c, make([]byte, 4+28))
					_, _ = io.WriteString(c, answer)
					defer func() { _ = c.Close() }()
					if name != "ALargeClaim" {
						_ = c.(*net.TCPConn).CloseWrite()
					}
				}
			}()
			p := zktest.NewProxy(t, ln.Addr().String())
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 16 {
				c, err := net.Dial("tcp", p.Addr())
				require.NoError(t, err)
				_, err = c.Write(shake(wire.ConnectRequest{TimeoutMs: 1000}))
				require.NoError(t, err)
				if name == "ALargeClaim" {
					continue // to be closed with the proxy
				}
				require.NoError(t, c.SetDeadline(time.Now().Add(patience)))
				got, err := io.ReadAll(c)
				require.NoError(t, err)
				require.True(t, strings.HasPrefix(answer, string(got)), "%q", got)
				require.NoError(t, c.Close())
			}
			<-served
			p.Close()
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16<<20), "of 16 claims of up to 64 MiB")
			require.NoError(t, ln.Close())
		})
	}
}

// A client that does not read holds nobody up but itself.
func TestProxyOfASlowReader(t *testing.T) {
	inFrontOfEach(t, "OthersGoOn", func(t *testing.T, w world) {
		w.direct.must(wire.OpSetData, setData(w.root, strings.Repeat("x", 1<<20-1000), -1))
		slow := connectRaw(t, w.addr)
		for range 40 {
			slow.send(wire.OpGetData, watched(w.root, false))
		}
		quick := connectRaw(t, w.addr)
		for range 20 {
			require.Equal(t, wire.OK, quick.must(wire.OpExists, watched(w.root, false)).Err)
		}
		// And it gets all it has asked for when it reads after all.
		for i := range 40 {
			// On a machine so busy that this takes a session's time both must say that they live.
			slow.send(wire.OpPing, nil)
			w.direct.must(wire.OpPing, nil)
			f, err := slow.next()
			for err == nil && f.Xid == wire.XidPing {
				f, err = slow.next()
			}
			require.NoError(t, err)
			require.EqualValues(t, i+1, f.Xid)
		}
		w.direct.must(wire.OpDelete, versioned(w.root, -1))
	})
}
