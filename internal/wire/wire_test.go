package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// The bytes are those of Apache ZooKeeper's own clients and servers: a wire
// format does not change because a test was regenerated.
func TestHandshakeBytes(t *testing.T) {
	req := ConnectRequest{LastZxid: 0x102, TimeoutMs: 4000, Session: 0x1000001, Password: []byte{1, 2}}
	const reqHex = "00000000" + "0000000000000102" + "00000fa0" + "0000000001000001" + "00000002" + "0102"
	require.Equal(t, reqHex, hex.EncodeToString(req.Append(nil)))
	got, err := ParseConnectRequest(req.Append(nil))
	require.NoError(t, err)
	require.Equal(t, req, got)

	req.HasReadOnly, req.ReadOnly = true, true
	require.Equal(t, reqHex+"01", hex.EncodeToString(req.Append(nil)))
	got, err = ParseConnectRequest(req.Append(nil))
	require.NoError(t, err)
	require.Equal(t, req, got)

	resp := ConnectResponse{TimeoutMs: 4000, Session: 0x1000001, Password: []byte{1, 2}}
	require.Equal(t, "00000000"+"00000fa0"+"0000000001000001"+"00000002"+"0102", hex.EncodeToString(resp.Append(nil)))
	back, err := ParseConnectResponse(resp.Append(nil))
	require.NoError(t, err)
	require.Equal(t, resp, back)
}

func TestHeaderBytes(t *testing.T) {
	require.Equal(t, "00000007fffffff5", hex.EncodeToString(RequestHeader{Xid: 7, Op: OpCloseSession}.Append(nil)))
	require.Equal(t, "ffffffffffffffffffffffff00000000", hex.EncodeToString(ReplyHeader{Xid: XidEvent, Zxid: -1}.Append(nil)))
}

func TestShortRecordsAreErrors(t *testing.T) {
	whole := ConnectRequest{Password: make([]byte, 16)}.Append(nil)
	for n := range whole {
		_, err := ParseConnectRequest(whole[:n])
		require.ErrorIs(t, err, ErrShort, "%d bytes", n)
	}
	for _, b := range [][]byte{nil, {0, 0, 0}, {0, 0, 0, 1, 0, 0, 0}} {
		_, err := ParseRequestHeader(b)
		require.ErrorIs(t, err, ErrShort)
		_, err = ParseReplyHeader(b)
		require.ErrorIs(t, err, ErrShort)
	}
	// A count that cannot fit must not be allocated for.
	d := NewDecoder([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0})
	require.Empty(t, d.Strings())
	require.ErrorIs(t, d.Err(), ErrShort)
	d = NewDecoder([]byte{0xff, 0xff, 0xff, 0xfe})
	require.Empty(t, d.Buffer())
	require.ErrorIs(t, d.Err(), ErrShort)
}

func TestReadFrame(t *testing.T) {
	r := bytes.NewReader(AppendFrame(AppendFrame(nil, []byte("ab")), nil))
	b, err := ReadFrame(r, 10)
	require.NoError(t, err)
	require.Equal(t, "ab", string(b))
	b, err = ReadFrame(r, 10)
	require.NoError(t, err)
	require.Empty(t, b)
	_, err = ReadFrame(r, 10)
	require.Equal(t, io.EOF, err)

	_, err = ReadFrame(bytes.NewReader([]byte{0, 0, 0, 9, 1}), 10)
	require.Equal(t, io.ErrUnexpectedEOF, err)
	var size *FrameSizeError
	_, err = ReadFrame(bytes.NewReader([]byte{0, 0, 0, 11}), 10)
	require.True(t, errors.As(err, &size))
	require.Equal(t, 11, size.Size)
	_, err = ReadFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff}), 10)
	require.True(t, errors.As(err, &size), "a negative length")
}

// A length that nothing stands behind costs no memory, and a long frame is read
// whole whatever the pieces it comes in.
func TestALengthIsOnlyAClaim(t *testing.T) {
	const large = 64 << 20
	claim := []byte{large >> 24, large >> 16 & 0xff, 0, 0, 'x'}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ReadFrame(bytes.NewReader(claim), large)
	runtime.ReadMemStats(&after)
	require.Equal(t, io.ErrUnexpectedEOF, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<20))

	for _, n := range []int{0, 1, unproven - 1, unproven, unproven + 1, 3*unproven + 7, MaxFrame} {
		payload := make([]byte, n)
		for i := range payload {
			payload[i] = byte(i * 7)
		}
		got, err := ReadFrame(iotest.OneByteReader(bytes.NewReader(AppendFrame(nil, payload))), MaxFrame)
		require.NoError(t, err)
		require.True(t, bytes.Equal(payload, got), "%d bytes", n)
		_, err = ReadFrame(bytes.NewReader(AppendFrame(nil, payload)[:n+3]), MaxFrame)
		require.Equal(t, io.ErrUnexpectedEOF, err, "%d bytes", n)
	}
}

// Whatever the pieces in which bytes pass, the heads are the same.
func FuzzStream(f *testing.F) {
	f.Add([]byte("hello"), []byte(""), []byte("a longer frame than the head that is wanted"), uint8(3))
	f.Add([]byte{}, []byte{1}, []byte{2, 3}, uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c []byte, piece uint8) {
		var whole []byte
		var want []string
		const n = 8
		for _, p := range [][]byte{a, b, c} {
			whole = AppendFrame(whole, p)
			want = append(want, string(p[:min(n, len(p))]))
		}
		var got []string
		s := Stream{Want: n, Head: func(h []byte) { got = append(got, string(h)) }}
		ends := map[int]bool{0: true, 4 + len(a): true, 8 + len(a) + len(b): true, len(whole): true}
		for passed := 0; ; {
			if s.Between() != ends[passed] {
				t.Fatalf("between frames after %d of %d bytes: %v", passed, len(whole), s.Between())
			}
			if passed == len(whole) {
				break
			}
			k := min(int(piece)+1, len(whole)-passed)
			s.Pass(whole[passed : passed+k])
			passed += k
		}
		if len(want) != len(got) {
			t.Fatalf("got %d heads, want %d", len(got), len(want))
		}
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("head %d: got %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// Bytes of a peer never make us panic or allocate without bound.
func FuzzRecords(f *testing.F) {
	f.Add(ConnectRequest{Password: make([]byte, 16)}.Append(nil))
	f.Add(ConnectResponse{Password: make([]byte, 16)}.Append(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = ParseConnectRequest(b)
		_, _ = ParseConnectResponse(b)
		_, _ = ParseRequestHeader(b)
		_, _ = ParseReplyHeader(b)
		d := NewDecoder(b)
		for d.Err() == nil && d.Len() > 0 {
			_ = d.Strings()
			_ = d.Buffer()
		}
		s := Stream{Want: 16, Head: func(h []byte) {
			if len(h) > 16 {
				t.Fatal("more than was wanted")
			}
		}}
		s.Pass(b)
	})
}

// Whatever the pieces in which bytes pass, the same bytes of each frame are
// blanked, Head has seen them before, and no others change.
func FuzzBlank(f *testing.F) {
	f.Add([]byte("a reply of some length"), []byte("short"), uint8(3))
	f.Add([]byte("0123456789abcdef"), []byte("0123456789"), uint8(0))
	f.Fuzz(func(t *testing.T, a, b []byte, piece uint8) {
		const from, to, n = 4, 12, 16
		var whole, want []byte
		var heads, got []string
		for _, p := range [][]byte{a, b} {
			whole = AppendFrame(whole, p)
			heads = append(heads, string(p[:min(n, len(p))]))
			blank := bytes.Clone(p)
			if len(blank) > from {
				clear(blank[from:min(to, len(blank))])
			}
			want = AppendFrame(want, blank)
		}
		s := Stream{Want: n, Head: func(h []byte) { got = append(got, string(h)) }, BlankFrom: from, BlankTo: to}
		for rest := whole; len(rest) > 0; {
			k := min(int(piece)+1, len(rest))
			s.Pass(rest[:k])
			rest = rest[k:]
		}
		if !bytes.Equal(whole, want) {
			t.Fatalf("got %x, want %x", whole, want)
		}
		if len(got) != 2 || got[0] != heads[0] || got[1] != heads[1] {
			t.Fatalf("heads %q, want %q", got, heads)
		}
	})
}
