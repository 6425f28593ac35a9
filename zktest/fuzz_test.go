package zktest

import (
	"errors"
	"net"
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

// FuzzRequests feeds a server with requests that no client would send: it must
// neither panic nor answer with anything but whole frames, and its tree must
// stay a tree.
func FuzzRequests(f *testing.F) {
	header := func(op Op, body ...byte) []byte {
		return append(wire.RequestHeader{Xid: 1, Op: op}.Append(nil), body...)
	}
	path := []byte{0, 0, 0, 2, '/', 'a'}
	acls := []byte{0, 0, 0, 1, 0, 0, 0, 31, 0, 0, 0, 5, 'w', 'o', 'r', 'l', 'd', 0, 0, 0, 6, 'a', 'n', 'y', 'o', 'n', 'e'}
	createBody := append(append(append([]byte{}, path...), 255, 255, 255, 255), append(acls, 0, 0, 0, 3)...)
	f.Add(header(OpCreate, createBody...), header(OpDelete, append(path, 255, 255, 255, 255)...))
	f.Add(header(OpMulti, append([]byte{0, 0, 0, 1, 0, 0, 0, 0, 0}, createBody...)...), header(OpGetChildren2, append(path, 1)...))
	f.Add(header(OpSetWatches, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1), header(OpGetACL, 0, 0, 0, 1, '/'))
	f.Add(header(OpSetAuth, 0, 0, 0, 0, 0, 0, 0, 2, 'i', 'p'), header(OpCloseSession))
	f.Add([]byte{0, 0}, []byte{})

	f.Fuzz(func(t *testing.T, first, second []byte) {
		s, err := Start(WithListener(make(nobody)), WithTick(time.Hour))
		require.NoError(t, err)
		defer s.Close()
		for _, hello := range [][]byte{wire.ConnectRequest{}.Append(nil), first} {
			c := &conn{s: s, nc: unused{}, done: make(chan struct{}), out: queue{wake: make(chan struct{}, 1)}}
			for _, payload := range [][]byte{hello, first, second, first} {
				pathIn(OpMulti, payload)
				if !s.handle(c, payload) {
					break
				}
			}
			for frame, _ := c.out.pop(); frame != nil; frame, _ = c.out.pop() {
				require.GreaterOrEqual(t, len(frame), 4+wire.ReplyHeaderLen)
				d := wire.NewDecoder(frame)
				require.Equal(t, len(frame)-4, int(d.Int32()))
			}
		}
		for p, n := range s.tree.nodes {
			up, _ := split(p)
			require.NotNil(t, s.tree.nodes[up], "%q has no parent", p)
			for _, name := range n.children.list() {
				require.NotNil(t, s.tree.nodes[rootless(p)+"/"+name], "%q has lost its child %q", p, name)
			}
		}
	})
}

func rootless(path string) string {
	if path == "/" {
		return ""
	}
	return path
}

// unused is a connection that is only ever closed.
type unused struct{ net.Conn }

func (unused) Close() error { return nil }
