package zktest_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// length is the length of a frame, whether or not one follows.
func length(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }

// ints are big-endian ints in a row.
func ints(v ...int32) []byte {
	var e wire.Encoder
	for _, i := range v {
		e.Int32(i)
	}
	return e.Buf
}

func shake(r wire.ConnectRequest) []byte { return wire.AppendFrame(nil, r.Append(nil)) }

func join(parts ...[]byte) []byte {
	var out []byte
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

func framed(payload []byte) []byte { return wire.AppendFrame(nil, payload) }

// garbage is what no client sends, and what a ZooKeeper 3.8 says to it: nothing,
// a handshake, the codes of replies; then it stays or ends.
var garbage = func() []struct{ name, sent, want string } {
	const ends, stays, welcome = "ends", "stays", "session of 10000 "
	ok := shake(wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)})
	half := func(b []byte) []byte { return b[:len(b)/2] }
	password := func(n int32) []byte { // a handshake whose password says it is that long
		return framed(join(ints(0, 0, 0, 10_000, 0, 0), ints(n)))
	}
	type c = struct{ name, sent, want string }
	var out []c
	add := func(name string, sent []byte, want string) { out = append(out, c{name, string(sent), want}) }

	add("Nothing", nil, stays)
	add("HalfALength", []byte{0, 0}, stays)
	add("HalfAHandshake", half(ok), stays)
	add("AnEmptyFrame", length(0), ends)
	add("ANegativeLength", length(0xffffffff), ends)
	add("TheSmallestLength", length(0x80000000), ends)
	add("TheLargestLength", length(0x7fffffff), ends)
	add("TheLimit", length(wire.MaxFrame), stays)
	add("AboveTheLimit", length(wire.MaxFrame+1), ends)
	add("AShortHandshake", framed(make([]byte, 10)), ends)
	add("ARequestFirst", framed(ints(-2, 11)), ends)
	add("AnotherLanguage", []byte("GET / HTTP/1.1\r\n\r\n"), ends)
	add("AnUnknownWord", []byte("xyzw"), ends)

	add("ItsOwnProtocol", shake(wire.ConnectRequest{Protocol: 7, TimeoutMs: 10_000, Password: make([]byte, 16)}), welcome+stays)
	add("NoTimeout", shake(wire.ConnectRequest{Password: make([]byte, 16)}), "session of 400 "+stays)
	add("ANegativeTimeout", shake(wire.ConnectRequest{TimeoutMs: -5, Password: make([]byte, 16)}), "session of 400 "+stays)
	add("TheLongestTimeout", shake(wire.ConnectRequest{TimeoutMs: 0x7fffffff, Password: make([]byte, 16)}), "session of 60000 "+stays)
	add("NoPassword", shake(wire.ConnectRequest{TimeoutMs: 10_000}), welcome+stays)
	add("AShortPassword", shake(wire.ConnectRequest{TimeoutMs: 10_000, Password: []byte("12345")}), welcome+stays)
	add("APasswordOfNegativeLength", password(-2), ends)
	add("APasswordBeyondItsFrame", password(1<<30), ends)
	add("AStrangeReadOnlyByte", framed(append(wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16)}.Append(nil), 2)), welcome+stays)
	add("MoreThanAHandshake", framed(append(wire.ConnectRequest{TimeoutMs: 10_000, Password: make([]byte, 16), HasReadOnly: true}.Append(nil), "more"...)), welcome+stays)
	add("ANegativeZxid", shake(wire.ConnectRequest{LastZxid: -1, TimeoutMs: 10_000, Password: make([]byte, 16)}), welcome+stays)
	add("AZxidOfTheFuture", shake(wire.ConnectRequest{LastZxid: 1 << 50, TimeoutMs: 10_000, Password: make([]byte, 16)}), ends)
	add("AnUnknownSession", shake(wire.ConnectRequest{TimeoutMs: 10_000, Session: 7, Password: make([]byte, 16)}), "no session "+ends)
	add("ANegativeSession", shake(wire.ConnectRequest{TimeoutMs: 10_000, Session: -1, Password: make([]byte, 16)}), "no session "+ends)

	add("HalfALengthLater", join(ok, []byte{0, 0}), welcome+stays)
	add("HalfAFrameLater", join(ok, length(16), ints(1)), welcome+stays)
	for _, op := range []int32{0, -1, 99, -99} {
		add(fmt.Sprintf("OfOperation%d", op), join(ok, framed(ints(1, op))), welcome+"error -6 to 1 "+ends)
	}
	add("HandshakeTwice", join(ok, ok), welcome+"error -6 to 0 "+ends)

	for _, op := range []wire.Op{wire.OpCreate, wire.OpDelete, wire.OpExists, wire.OpGetData, wire.OpSetData, wire.OpGetACL, wire.OpSetACL,
		wire.OpGetChildren, wire.OpGetChildren2, wire.OpSetWatches} {
		add("NoBodyFor"+op.String(), join(ok, framed(ints(1, int32(op))), framed(ints(-2, 11))), welcome+"error -5 to 1 error 0 to -2 "+stays)
	}
	// Counts that lie.
	many := int32(0x7fffffff)
	add("SetWatchesOfTwoBillion", join(ok, framed(ints(1, 101, 0, 0, many)), framed(ints(-2, 11))), welcome+"error -5 to 1 error 0 to -2 "+stays)
	add("SetWatchesOfLessThanNone", join(ok, framed(ints(1, 101, 0, 0, -2, 0, 0)), framed(ints(-2, 11))), welcome+"error 0 to 1 error 0 to -2 "+stays)
	add("APathOfTwoBillion", join(ok, framed(ints(1, 3, many)), framed(ints(-2, 11))), welcome+"error -5 to 1 error 0 to -2 "+stays)
	add("AnACLOfTwoBillion", join(ok, framed(join(ints(1, 1, 2), []byte("/x"), ints(-1, many))), framed(ints(-2, 11))), welcome+"error -5 to 1 error 0 to -2 "+stays)
	deep := join(ints(1, 14))
	for range 1000 {
		deep = join(deep, ints(14), []byte{0}, ints(-1))
	}
	add("AMultiOfMultisOfMultis", join(ok, framed(deep), framed(ints(-2, 11))), welcome+"error -5 to 1 error 0 to -2 "+stays)
	return out
}()

// TestGarbage sends it to zktest, and to a real server if there is one, all at
// once; others are still served.
func TestGarbage(t *testing.T) {
	servers := map[string]string{"zktest": zktest.New(t, zktest.WithSessionTimeouts(400*time.Millisecond, time.Minute)).Addr()}
	if real, _, _ := strings.Cut(os.Getenv("ZKFENCE_ZK"), ","); real != "" {
		servers["real"] = real
	}
	for name, addr := range servers {
		t.Run(name, func(t *testing.T) {
			witness := connectRaw(t, addr)
			t.Run("sent", func(t *testing.T) {
				for _, g := range garbage {
					t.Run(g.name, func(t *testing.T) {
						t.Parallel()
						require.Equal(t, g.want, whatComesBack(t, addr, g.sent, g.want))
					})
				}
			})
			require.Equal(t, wire.OK, witness.must(wire.OpExists, watched("/", false)).Err)
			witness.must(wire.OpCloseSession, nil)
		})
	}
}

// whatComesBack tells in words what a server says to a stream. It stays if the
// connection still stands a moment after all that is wanted has come.
func whatComesBack(t *testing.T, addr, stream, want string) string {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer func() { _ = nc.Close() }()
	_, _ = io.WriteString(nc, stream) // a server that has hung up need not read it all
	r := bufio.NewReader(nc)
	var said strings.Builder
	for n := 0; ; n++ {
		wait := patience
		if said.String()+"stays" == want {
			wait = aMoment
		}
		require.NoError(t, nc.SetReadDeadline(time.Now().Add(wait)))
		payload, err := wire.ReadFrame(r, wire.MaxFrame)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return said.String() + "stays"
		}
		if err != nil {
			return said.String() + "ends"
		}
		if n == 0 {
			h, err := wire.ParseConnectResponse(payload)
			require.NoError(t, err)
			if h.Session == 0 {
				said.WriteString("no session ")
			} else {
				fmt.Fprintf(&said, "session of %d ", h.TimeoutMs)
			}
			continue
		}
		h, err := wire.ParseReplyHeader(payload)
		require.NoError(t, err)
		fmt.Fprintf(&said, "error %d to %d ", h.Err, h.Xid)
	}
}
