// Package wire is ZooKeeper's wire format, as far as it is needed by whoever
// looks at bytes between a client and a server: our net.Conn in
// internal/session, the server in zktest and the proxy there. It is the one
// implementation of frames in this module.
//
// A frame is an int32 length and that many bytes, big-endian throughout. The
// first frame each way is the handshake, which has no header. After it, every
// request opens with {int32 xid, int32 op} and every reply with {int32 xid,
// int64 zxid, int32 err}; a body follows a reply only where err is 0.
//
// Nothing here does I/O on its own account, starts a goroutine or keeps a
// reference to bytes it was shown.
package wire
