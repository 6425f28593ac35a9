package bubble

import (
	"errors"
	"os"
)

// replies reads the frames that come on an inOrder. One goroutine at a time uses
// it, as it is with the reader of any stream.
type replies struct {
	head    []byte // of the next frame, as far as it has come
	ready   []byte // to be read now
	left    int    // of the present frame, to come behind it
	greeted bool   // the handshake has come
	raw     bool   // these are no replies
}

func (r *replies) read(c *inOrder, p []byte) (int, error) {
	for {
		switch {
		case len(r.ready) > 0:
			n := copy(p, r.ready)
			r.ready = r.ready[n:]
			return n, nil
		case r.raw || len(p) == 0:
			return c.Conn.Read(p)
		case r.left > 0:
			n, err := c.Conn.Read(p[:min(len(p), r.left)])
			r.left -= n
			return n, err
		}
		var b [headLen]byte
		n, err := c.Conn.Read(b[:headLen-len(r.head)])
		r.head = append(r.head, b[:n]...)
		switch {
		case len(r.head) == headLen:
			r.begin(c)
		case err == nil:
		case len(r.head) > 0 && !errors.Is(err, os.ErrDeadlineExceeded):
			r.ready, r.head, r.raw = r.head, nil, true // all that there will be
		default:
			return 0, err
		}
	}
}

// begin looks at the head of a frame.
func (r *replies) begin(c *inOrder) {
	r.ready, r.head = r.head, nil
	n := lenOf(r.ready)
	xid, ok := xidOf(r.ready), n > 0
	if r.greeted && ok {
		xid, ok = c.clientsNumber(xid)
		setXid(r.ready, xid)
	} else if ok {
		_, ok = c.clientsNumber(0)
	}
	if r.greeted = true; !ok {
		r.raw = true
		return
	}
	r.left = n - headLen
}
