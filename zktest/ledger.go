package zktest

import (
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// traceLen bounds what Requests and Trace can look back on. Who wants more
// writes it down as it comes, with Follow.
const traceLen = 4096

// ledger is the fault layer's memory. Faults.mu guards it.
type ledger struct {
	n      int
	ring   []*Entry
	counts map[countKey]int
	short  map[int64]int // sessions by the order in which they were granted, from 1
}

type countKey struct {
	selector
	op Op
}

// put takes an entry into the trace and returns it with its number.
func (f *Faults) put(e Entry) *Entry {
	l := &f.log
	l.n++
	e.N, e.At = l.n, time.Since(f.epoch)
	if len(l.ring) < traceLen {
		l.ring = append(l.ring, &e)
	} else {
		l.ring[(l.n-1)%traceLen] = &e
	}
	f.note(e)
	return &e
}

// from says which connection an entry comes from.
func (t *tap) from(kind Kind) Entry {
	return Entry{Kind: kind, Request: Request{Conn: t.number, Host: t.host, Session: t.session}}
}

// asked takes in a request.
func (t *tap) asked(xid int32, op Op, path string) *Request {
	e := t.from(Asked)
	e.Xid, e.Op, e.Path = xid, op, path
	r := &t.f.put(e).Request
	t.f.log.counts[keyOf(r)]++
	return r
}

// answered takes in the reply to a request.
func (t *tap) answered(r *Request, code Code, zxid int64) {
	r.Answered, r.Err, r.Zxid = true, code, zxid
	t.noteOf(r, Answered)
}

// broke puts down which fault has met a request.
func (t *tap) broke(r *Request, fault string) {
	r.Fault = fault
	t.noteOf(r, Broke)
}

// noteOf tells of what becomes of a request.
func (t *tap) noteOf(r *Request, kind Kind) {
	e := Entry{Kind: kind, Request: *r}
	e.At = time.Since(t.f.epoch)
	e.Took = e.At - r.At
	t.f.note(e)
}

func (t *tap) notified(body []byte) {
	d := wire.NewDecoder(body)
	kind, _ := d.Int32(), d.Int32()
	e := t.from(Notified)
	e.Xid, e.Op, e.Path, e.Note = wire.XidEvent, OpNotify, d.String(), eventName(kind)
	t.f.put(e)
}

// began takes in the session that a handshake's answer grants.
func (t *tap) began(session int64) {
	if l := &t.f.log; l.short[session] == 0 {
		l.short[session] = len(l.short) + 1
		t.f.note(t.stamped(Began))
	}
}

// stamped is an entry that is told and not remembered.
func (t *tap) stamped(kind Kind) Entry {
	e := t.from(kind)
	e.N, e.At = t.f.log.n, time.Since(t.f.epoch)
	return e
}

// How a session ends, in an entry's Note.
const (
	endClosed  = "closed by its client"
	endExpired = "expired"
)

// inferred puts down the end of a session where no server says it itself.
func (t *tap) inferred(session int64, how string) {
	if t.f.infers && session != 0 {
		e := t.from(Ended)
		e.Session, e.Note = session, how
		t.f.put(e)
	}
}

// put does so for the server, whose mutex is held; unlock tells.
func (s *Server) put(e Entry) {
	f := s.Faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(e)
	if len(f.untold) > 0 {
		s.noted = append(s.noted, f)
	}
}

// sessionEnded puts down what a transaction has ended.
func (s *Server) sessionEnded(t *txn) {
	e := Entry{Kind: Ended, Note: endClosed, Request: Request{Session: t.session}}
	if t.expired {
		e.Note = endExpired
	}
	if c := s.attached[t.session]; c != nil {
		e.Conn, e.Host = c.number, c.host
	}
	s.put(e)
}

// acted puts down what the test has done to the server itself.
func (s *Server) acted(method string, r Request, note string) {
	r.Fault = method
	s.put(Entry{Kind: Acted, Request: r, Note: note})
}

// acted puts down what the test has done.
func (t *Target) acted(method, note string) {
	t.f.put(Entry{Kind: Acted, Note: note, Request: Request{Host: t.sel.host, Session: t.sel.session, Fault: method}})
}

func keyOf(r *Request) countKey {
	return countKey{selector{session: r.Session, host: r.Host}, r.Op}
}

// regrant books a handshake under the session that it brought.
func (l *ledger) regrant(r *Request, session int64) {
	if l.counts[keyOf(r)] > 0 { // not reset meanwhile
		l.counts[keyOf(r)]--
		r.Session = session
		l.counts[keyOf(r)]++
	}
	r.Session = session
}

// all returns what is remembered, oldest first.
func (l *ledger) all() []*Entry {
	if len(l.ring) < traceLen {
		return l.ring
	}
	cutAt := l.n % traceLen
	return append(append(make([]*Entry, 0, traceLen), l.ring[cutAt:]...), l.ring[:cutAt]...)
}
