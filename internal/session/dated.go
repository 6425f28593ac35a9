package session

import (
	"bytes"
	"encoding/binary"

	"github.com/zkfence/zkfence/internal/wire"
)

// Offsets of the zxids that pass between a zk.Conn and a server.
const (
	replyZxid   = 4     // in a reply's payload
	connectZxid = 4 + 4 // in the frame of a connect request
	watchesZxid = 4 + wire.RequestHeaderLen
)

// dated returns the frame b with the last zxid seen put where the zk.Conn has
// put its own, which is always 0: answers pass to it with theirs blanked.
//
// Of its own it asks for watches again, after a reconnect, as of a number that
// its receive loop, already running, raises with each answer. That is a data
// race, and worse: a change between the end of the old connection and that
// answer is then told to nobody. What was seen before the connection began is
// the number to ask with, and we know it.
func (c *conn) dated(b []byte) []byte {
	at := watchesZxid
	switch {
	case c.frames == 1:
		at = connectZxid
	case c.op != wire.OpSetWatches:
		return b
	}
	if len(b) < at+8 {
		return b
	}
	b = bytes.Clone(b) // it is the zk.Conn's
	binary.BigEndian.PutUint64(b[at:], uint64(c.seen))
	return b
}
