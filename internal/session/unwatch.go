package session

import (
	"cmp"
	"maps"
	"slices"

	"github.com/go-zookeeper/zk"

	"github.com/zkfence/zkfence/internal/wire"
)

// unwatched is the state in events of our own making; no server sends it.
const unwatched = zk.StateUnknown

// unwatch returns an event for every watch of ours, for the zk.Conn to read after
// the last byte of a connection that has ended. It then has none of them to ask
// for again when it reconnects, and we arm each anew.
//
// It would ask for what has changed since the newest zxid it knows, in requests
// that can be left over from a connection before, and keep one more channel for
// each watch and reconnect.
//
// After a frame that came in part there is nothing to say: it would be taken for
// the rest of it. Watches that an op of a user has set are not known here.
func (c *conn) unwatch() []byte {
	if !c.in.Between() {
		return nil
	}
	var events []byte
	for _, key := range c.s.watched() {
		node, kind := key.path, zk.EventNodeDataChanged
		if key.kind == childrenWatch {
			kind = zk.EventNodeChildrenChanged
		}
		e := wire.Encoder{Buf: wire.ReplyHeader{Xid: wire.XidEvent, Zxid: -1}.Append(nil)}
		e.Int32(int32(kind))
		e.Int32(int32(unwatched))
		e.String(node)
		events = wire.AppendFrame(events, e.Buf)
	}
	return events
}

// watched returns what the zk.Conn may have a watch of ours on. Those
// that nobody has armed on the connection that has ended are forgotten: they may
// have gone while the client was away, with all who waited for it, and then have
// no event to forget them by.
func (s *Session) watched() []watchKey {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(s.watches), func(a, b watchKey) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.kind, b.kind))
	})
	maps.DeleteFunc(s.watches, func(_ watchKey, e *watchEntry) bool { return e.arming == nil && e.conn < s.conns })
	return keys
}
