package zktest

import (
	"fmt"
	"strings"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// Request is one request of a client, as the fault layer saw it.
type Request struct {
	N       int           // place among all requests and events of this server, from 1
	At      time.Duration // since the server, or proxy, was started
	Conn    int           // number of the connection, in the order of accepts, from 1
	Host    string        // the client's host, as From takes it
	Session int64         // for a handshake, the session asked for until it is answered, then the one granted
	Xid     int32
	Op      Op     // OpCreateSession for a handshake
	Path    string // the first path in it, if it has one; a multi's is that of its first operation

	// Fault is the fault that met the request, by its method's name, or empty.
	Fault string
	// Answered says whether the server's reply has reached the fault layer. Only
	// then Err and Zxid count: the reply's header.
	Answered bool
	Err      Code
	Zxid     int64
}

func (r Request) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-5d %12s conn=%d host=%s session=%#x %s", r.N, r.At, r.Conn, r.Host, uint64(r.Session), r.Op)
	if r.Path != "" {
		fmt.Fprintf(&b, " %q", r.Path)
	}
	if r.Op != OpNotify {
		fmt.Fprintf(&b, " xid=%d", r.Xid)
		if r.Answered {
			fmt.Fprintf(&b, " -> %s zxid=%#x", r.Err, uint64(r.Zxid))
		} else {
			b.WriteString(" -> no answer")
		}
	}
	if r.Fault != "" {
		fmt.Fprintf(&b, " [%s]", r.Fault)
	}
	return b.String()
}

// traceLen bounds what Requests and Trace can look back on.
const traceLen = 4096

// ledger is the fault layer's memory. Faults.mu guards it.
type ledger struct {
	n      int
	ring   []*Request
	counts map[countKey]int
}

type countKey struct {
	selector
	op Op
}

func (l *ledger) add(t *tap, xid int32, op Op, path string) *Request {
	l.n++
	r := &Request{
		N: l.n, At: time.Since(t.f.epoch), Conn: t.number, Host: t.host,
		Session: t.session, Xid: xid, Op: op, Path: path,
	}
	if len(l.ring) < traceLen {
		l.ring = append(l.ring, r)
	} else {
		l.ring[(l.n-1)%traceLen] = r
	}
	if op != OpNotify {
		l.counts[keyOf(r)]++
	}
	return r
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

func (l *ledger) event(t *tap, body []byte) {
	d := wire.NewDecoder(body)
	kind, _ := d.Int32(), d.Int32()
	path := d.String()
	l.add(t, wire.XidEvent, OpNotify, path).Fault = eventName(kind)
}

// all returns what is remembered, oldest first.
func (l *ledger) all() []*Request {
	if len(l.ring) < traceLen {
		return l.ring
	}
	cutAt := l.n % traceLen
	return append(append(make([]*Request, 0, traceLen), l.ring[cutAt:]...), l.ring[:cutAt]...)
}

// Requests returns the target's latest requests, oldest first, pings and
// handshakes included; at most some thousands are remembered.
func (t *Target) Requests() []Request {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	var out []Request
	for _, r := range t.f.log.all() {
		if r.Op != OpNotify && t.sel.matches(r.Host, r.Session) {
			out = append(out, *r)
		}
	}
	return out
}

// Count returns how many requests of kind op the target has sent, since the
// start or since ResetCounts, whatever became of them. OpCreateSession counts
// handshakes, answered ones under the session they were granted.
func (t *Target) Count(op Op) int {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	sum := 0
	for k, n := range t.f.log.counts {
		if covers(op, k.op) && t.sel.matches(k.host, k.session) {
			sum += n
		}
	}
	return sum
}

// ResetCounts makes Count start from 0 again, for every target.
func (f *Faults) ResetCounts() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.log.counts)
}

// Trace returns the last n requests and events that passed, one a line, for the
// output of a test that failed.
func (t *Target) Trace(n int) string {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	var lines []string
	all := t.f.log.all()
	for i := len(all) - 1; i >= 0 && len(lines) < n; i-- {
		if t.sel.matches(all[i].Host, all[i].Session) {
			lines = append(lines, all[i].String())
		}
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		b.WriteString(lines[i])
		b.WriteByte('\n')
	}
	return b.String()
}
