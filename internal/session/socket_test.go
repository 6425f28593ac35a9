package session

import (
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// dying is a socket at its end.
type dying struct{ *socket }

func (d dying) Read([]byte) (int, error) { return 0, io.EOF }

// The connection ends, and before the zk.Conn has closed it the session ends as
// well: the monitor knows of no connection any more, and nobody closed the socket.
func TestASocketIsClosedThoughTheSessionEndsRightAfterIt(t *testing.T) {
	s := loose(t)
	sock := &socket{closed: make(chan struct{})}
	c := newConn(s, dying{sock}, time.Second)
	c.passed.Store(true)
	require.True(t, s.adopt(c))
	_, err := c.Read(make([]byte, 4))
	require.Error(t, err)
	s.end(Closed)
	require.NoError(t, c.Close())
	select {
	case <-sock.closed:
	default:
		t.Fatal("the socket is open")
	}
}
