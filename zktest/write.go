package zktest

import (
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// A write goes three steps: it is judged into a transaction, the transaction is
// committed, which applies it to the state, and then it is answered on the
// connection that it came from, behind the events that it caused.

// write serves a request that changes something.
func (s *Server) write(c *conn, h wire.RequestHeader, d *wire.Decoder) {
	t := s.judge(h.Op, d, c.author())
	var room [1]Stat
	s.answer(c, h, &t, s.commitFor(c, &t, room[:0]))
}

// judge decides what becomes of a write.
func (s *Server) judge(op Op, d *wire.Decoder, who author) txn {
	t := txn{op: op, session: who.session}
	switch op {
	case OpCloseSession:
		return s.farewell(who.session)
	case OpMulti:
		ops, err := decodeMulti(d)
		if err != nil {
			t.code = wire.MarshallingError
			break
		}
		t.changes, t.code = judgeAll(s.ahead.tree, ops, who)
	default:
		c, code := s.decide(op, d, who)
		if t.code = code; code == wire.OK {
			t.changes = []change{c}
		}
	}
	return t
}

// commit gives t its zxid, refused or not, and its place in the log.
func (s *Server) commit(t *txn, stats []Stat) []Stat { return s.commitFor(nil, t, stats) }

func (s *Server) commitFor(c *conn, t *txn, stats []Stat) []Stat {
	t.now = time.Now().UnixMilli()
	if s.member != nil {
		s.member.propose(*t)
		return nil
	}
	t.zxid = s.zxid + 1
	return s.carryOut(c, t, stats)
}

// carryOut applies what has been committed. The events go out before whoever
// caused them is answered, also to that one: c, if it is here.
func (s *Server) carryOut(c *conn, t *txn, stats []Stat) []Stat {
	if t.op == OpCloseSession {
		s.sessionEnded(t)
	}
	stats = s.apply(t, stats, s.notify)
	s.retime = s.retime || s.reapsLater()
	if t.op == OpCloseSession {
		delete(s.tracker, t.session)
		if gone := s.attached[t.session]; gone != nil && gone != c {
			s.close(gone)
		}
	}
	return stats
}

// answer tells a client what became of its write.
func (s *Server) answer(c *conn, h wire.RequestHeader, t *txn, stats []Stat) {
	switch {
	case t.code == fatal, t.code == wire.SessionMoved:
		s.close(c)
		return
	case t.code != wire.OK:
		s.reply(c, h, t.code, nil)
	case t.op == OpMulti:
		s.reply(c, h, t.code, func(e *wire.Encoder) { encodeResults(e, t.changes, stats) })
	default:
		s.reply(c, h, t.code, func(e *wire.Encoder) { encodeWrite(e, t, stats) })
	}
	if t.op == OpCloseSession {
		s.close(c)
	}
}

// encodeWrite appends the body of the answer to a single write.
func encodeWrite(e *wire.Encoder, t *txn, stats []Stat) {
	switch t.op {
	case OpCreate:
		e.String(t.changes[0].path)
	case OpCreate2, OpCreateContainer, OpCreateTTL:
		e.String(t.changes[0].path)
		stats[0].encode(e)
	case OpSetData, OpSetACL:
		stats[0].encode(e)
	}
}
