package zktest

import "github.com/zkfence/zkfence/internal/wire"

// auth adds an identity to a connection. Its reply carries no zxid.
func (s *Server) auth(c *conn, h wire.RequestHeader, r authRequest) {
	who, ok := authenticate(r.scheme, r.auth, c.host)
	reply := wire.ReplyHeader{Xid: h.Xid}
	if !ok {
		reply.Err = wire.AuthFailed
	}
	s.send(c, sealFrame(newFrame(reply)))
	if !ok {
		s.close(c)
		return
	}
	c.identify(who)
}
