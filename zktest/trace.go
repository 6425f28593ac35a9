package zktest

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Request is one request of a client, as the fault layer saw it.
type Request struct {
	N       int           // place in the trace of this server, from 1
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
	Err      Code // CodeOK, CodeNoNode and so on
	Zxid     int64
}

func (r Request) String() string {
	s := fmt.Sprintf("%-5d %12s conn=%d host=%s session=%#x %s", r.N, r.At, r.Conn, r.Host, uint64(r.Session), r.what())
	if r.Fault != "" {
		s += " [" + r.Fault + "]"
	}
	return s
}

// what returns the request and its answer, without when and from whom.
func (r Request) what() string {
	s := r.Op.String()
	if r.Path != "" {
		s += fmt.Sprintf(" %q", r.Path)
	}
	s += fmt.Sprintf(" xid=%d", r.Xid)
	if !r.Answered {
		return s + " -> no answer"
	}
	return s + fmt.Sprintf(" -> %s zxid=%#x", r.Err, uint64(r.Zxid))
}

// Requests returns the target's latest requests, oldest first, pings and
// handshakes included; at most some thousands are remembered.
func (t *Target) Requests() []Request {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	var out []Request
	for _, e := range t.f.log.all() {
		if e.Kind == Asked && t.sel.matches(e.Host, e.Session) {
			out = append(out, e.Request)
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

// Trace returns the last n entries as a table for the output of a test that
// failed: requests with their answers, events, ends of connections and sessions,
// and what the test has done. Times are in seconds since the start, a client is
// its host and the number of its connection, and s1 is the first session that
// was granted; the ids stand below.
func (t *Target) Trace(n int) string {
	t.f.mu.Lock()
	defer t.f.mu.Unlock()
	all := t.f.log.all()
	var tail []*Entry
	for i := len(all) - 1; i >= 0 && len(tail) < n; i-- {
		w := follower{sel: t.sel}
		if w.follows(*all[i]) {
			tail = append(tail, all[i])
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	ids := ""
	told := map[int64]bool{}
	for i := len(tail) - 1; i >= 0; i-- {
		e := tail[i]
		// A Builder takes everything.
		_, _ = fmt.Fprintf(w, "%5d%12.6f\t%s\t%s\t%s\n", e.N, e.At.Seconds(), e.client(), t.f.log.name(e.Session), e.row())
		if short := t.f.log.short[e.Session]; short > 0 && !told[e.Session] {
			told[e.Session] = true
			ids += fmt.Sprintf("  s%d=%#x", short, uint64(e.Session))
		}
	}
	_ = w.Flush()
	if ids != "" {
		b.WriteString("sessions:" + ids[1:] + "\n")
	}
	return b.String()
}

// name returns the short name of a session.
func (l *ledger) name(session int64) string {
	switch short := l.short[session]; {
	case short > 0:
		return fmt.Sprintf("s%d", short)
	case session != 0:
		return fmt.Sprintf("%#x", uint64(session))
	}
	return "-"
}

// client returns whom an entry is about.
func (e *Entry) client() string {
	switch {
	case e.Conn > 0:
		return fmt.Sprintf("%s#%d", e.Host, e.Conn)
	case e.Host != "":
		return e.Host
	}
	return "-"
}

// row returns what a table says of an entry.
func (e *Entry) row() string {
	switch {
	case e.Kind == Asked && e.Fault != "":
		return e.what() + " [" + e.Fault + "]"
	case e.Kind == Acted:
		return "! " + e.what()
	case e.Kind == Notified:
		return "< " + e.what()
	}
	return e.what()
}
