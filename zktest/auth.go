package zktest

import (
	"strings"

	"github.com/zkfence/zkfence/internal/wire"
)

// auth adds an identity to a connection. Its reply carries no zxid, and it does
// not count as a sign of life.
func (s *Server) auth(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	r := decodeAuth(d)
	if d.Err() != nil {
		s.close(c)
		return
	}
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

// sasl answers a token as a server does that is not configured for SASL: with
// none of its own. The client is who it was.
func (s *Server) sasl(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	token := d.Buffer()
	if d.Err() != nil || token == nil {
		s.close(c)
		return
	}
	e := newFrame(wire.ReplyHeader{Xid: h.Xid})
	e.Buffer(nil)
	s.send(c, sealFrame(e))
}

// whoAmI lists a client's identities, without their secrets.
func (c *conn) whoAmI(e *wire.Encoder) {
	e.Int32(int32(len(c.ids)))
	for _, who := range c.ids {
		e.String(who.scheme)
		if who.scheme == "digest" {
			user, _, _ := strings.Cut(who.name, ":")
			putText(e, user)
		} else {
			putText(e, who.name)
		}
	}
}
