package session

import (
	"bytes"
	"net"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
)

// A zk.Conn that keeps the last zxid itself raises it while it asks for its
// watches: a data race, and what changed just before the first answer on the new
// connection is told to nobody. So it never learns one, and the server is told
// what was seen before the connection began.
func TestTheLastZxidIsKeptForTheClient(t *testing.T) {
	s := loose(t)
	s.zxid = 0x105
	sock := &socket{closed: make(chan struct{})}
	c := newConn(s, sock, 0)
	require.True(t, s.adopt(c))
	written := func(payload []byte) []byte {
		frame := wire.AppendFrame(nil, payload)
		kept, before := bytes.Clone(frame), len(sock.got())
		_, err := c.Write(frame)
		require.NoError(t, err)
		require.Equal(t, kept, frame, "the bytes are the zk.Conn's")
		got, err := wire.ReadFrame(bytes.NewReader(sock.got()[before:]), wire.MaxFrame)
		require.NoError(t, err)
		return got
	}
	hello := wire.ConnectRequest{TimeoutMs: 4000, Session: 7, Password: []byte("0123456789abcdef")}
	got, err := wire.ParseConnectRequest(written(hello.Append(nil)))
	require.NoError(t, err)
	hello.LastZxid = 0x105
	require.Equal(t, hello, got)
	require.NoError(t, s.connected(c, wire.ConnectResponse{TimeoutMs: 4000, Session: 7, Password: hello.Password}))
	c.passed.Store(true)

	// An answer raises the number for the next connection, not for this one.
	near, far := net.Pipe()
	c.sock = near
	answer := wire.AppendFrame(nil, append(wire.ReplyHeader{Xid: 1, Zxid: 0x109, Err: wire.NoNode}.Append(nil), "body"...))
	go func() { _, _ = far.Write(answer) }()
	read := make([]byte, 64)
	n, err := c.Read(read)
	require.NoError(t, err)
	require.Equal(t, wire.AppendFrame(nil, append(wire.ReplyHeader{Xid: 1, Err: wire.NoNode}.Append(nil), "body"...)), read[:n])
	require.EqualValues(t, 0x109, s.zxid)
	c.sock = sock

	watches := func(relative int64) []byte {
		e := wire.Encoder{Buf: wire.RequestHeader{Xid: 2, Op: wire.OpSetWatches}.Append(nil)}
		e.Int64(relative)
		e.Strings([]string{"/n"})
		e.Strings(nil)
		e.Strings(nil)
		return e.Buf
	}
	require.Equal(t, watches(0x105), written(watches(0)))
	other := append(wire.RequestHeader{Xid: 3, Op: wire.OpGetData}.Append(nil), "whatever else"...)
	require.Equal(t, other, written(other))
}
