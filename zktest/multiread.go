package zktest

import "github.com/zkfence/zkfence/internal/wire"

// readOp is one operation of a multiRead.
type readOp struct {
	op   Op
	path string
}

// decodeMultiRead reads the operations of a multiRead. All of a kind of writes
// pass for one, to be refused when it is their turn; a mixture does not.
func decodeMultiRead(d *wire.Decoder) []readOp {
	var ops []readOp
	reads := 0
	for {
		h := decodeMultiHeader(d)
		if h.done || d.Err() != nil {
			break
		}
		r := readOp{op: h.op}
		if isReadOp(h.op) {
			reads++
			r.path = decodeWatched(d).path // it leaves no watch, whatever it says
		} else {
			decodeOperation(h.op, d)
		}
		ops = append(ops, r)
	}
	if reads > 0 && reads < len(ops) {
		d.Fail(wire.ErrShort)
	}
	return ops
}

func isReadOp(op Op) bool { return op == OpGetData || op == OpGetChildren }

// multiRead serves reads that are answered together, each by itself. What the
// server chokes on fails the whole of it, and the answers so far go out with
// the error.
func (s *Server) multiRead(c *conn, ops []readOp) (Code, func(*wire.Encoder)) {
	failed := wire.OK
	var results []func(*wire.Encoder)
	for _, r := range ops {
		if !isReadOp(r.op) || r.path == null {
			failed = wire.MarshallingError
			break
		}
		code, body := s.look(c, r.op, watched{path: r.path})
		results = append(results, func(e *wire.Encoder) {
			if code != wire.OK {
				encodeResult(e, change{op: wire.OpError, code: code}, Stat{})
				return
			}
			multiHeader{op: r.op}.encode(e)
			body(e)
		})
	}
	return failed, func(e *wire.Encoder) {
		for _, result := range results {
			result(e)
		}
		multiHeader{op: wire.OpError, done: true, err: -1}.encode(e)
	}
}
