package zktest_test

import (
	"fmt"
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// syncOf asks whether all that was queued before has arrived.
var syncOf = request{Op: opName(wire.OpSync), Xid: 0x7ffffff0, Path: "/"}

// ask sends requests in one write and reads what comes until all are answered.
func (p *player) ask(on int, requests []request) {
	l := p.links[on]
	var buf []byte
	for _, r := range requests {
		buf = p.append(buf, l, r)
	}
	last := requests[len(requests)-1]
	if !mayEnd(last) {
		// It would reach a server that has closed the connection, whose kernel then
		// makes ours forget what has come and was not read yet.
		buf = p.append(buf, l, syncOf)
	}
	if err := l.write(buf); err != nil {
		p.ended(on, l, err)
		return
	}
	p.loose = slices.ContainsFunc(requests, func(r request) bool { return wire.Op(r.Op) == wire.OpCloseSession })
	f, ok := p.read(on, l, p.loose)
	if ok && mayEnd(last) && !big(last) && (wire.Op(last.Op) != wire.OpSetAuth || f.Err != 0) {
		p.untilEnd(on, l)
	}
}

// big reports whether a request may be over the limit.
func big(r request) bool {
	n := r.Size
	for _, s := range r.Subs {
		n += s.Size
	}
	return n > 0xf0000
}

// mayEnd reports whether a server may close the connection after a request. Such
// a one is the last in its step.
func mayEnd(r request) bool {
	if big(r) {
		return true
	}
	switch op := wire.Op(r.Op); op {
	case wire.OpCloseSession, wire.OpSetAuth, wire.OpSASL:
		return true
	default:
		_, known := requestOps[op]
		return !known
	}
}

// read reads a connection until nothing is due on it any more, and returns the
// last answer; false if the connection has ended.
func (p *player) read(on int, l *link, sorted bool) (last frame, ok bool) {
	var events []string
	flush := func() {
		if sorted {
			slices.Sort(events)
		}
		for _, e := range events {
			p.say("c%d %s", on, e)
		}
		events = nil
	}
	for len(l.waiting) > 0 {
		f, err := l.read(mustAnswer)
		if err != nil {
			flush()
			p.ended(on, l, err)
			return last, false
		}
		if f.Xid == wire.XidEvent {
			events = append(events, p.canon.event(f))
			continue
		}
		flush()
		r := l.waiting[0]
		l.waiting = l.waiting[1:]
		last = f
		p.answer(on, r, f)
	}
	flush()
	return last, true
}

// answer writes down an answer; one to our own sync only if it is not as it
// must be.
func (p *player) answer(on int, r request, f frame) {
	op := wire.Op(r.Op)
	if op == wire.OpPing {
		r.Xid = wire.XidPing
	}
	wrong := ""
	if f.Xid != r.Xid {
		wrong = fmt.Sprintf(" xid=%d", f.Xid)
	}
	if (op.Commits() || op == wire.OpCloseSession) && f.Zxid > 0 && !slices.Contains(p.canon.own, f.Zxid) {
		p.canon.own = append(p.canon.own, f.Zxid)
	}
	if r.Xid != syncOf.Xid || wrong != "" || f.Err != 0 {
		p.say("c%d %s%s: %s", on, op, wrong, p.canon.reply(r, f))
	}
}

// ended notes that a connection is over.
func (p *player) ended(on int, l *link, err error) {
	if isSilence(err) {
		p.say("c%d is silent", on)
	} else {
		p.say("c%d end", on)
	}
	l.nc.Close()
	if p.links[on] == l {
		delete(p.links, on)
	}
}

// untilEnd reads a connection that the server should close.
func (p *player) untilEnd(on int, l *link) {
	for {
		f, err := l.read(mustEnd)
		if err != nil {
			p.ended(on, l, err)
			return
		}
		if f.Xid == wire.XidEvent {
			p.say("c%d %s", on, p.canon.event(f))
		} else {
			p.say("c%d unasked: xid=%d err=%d %x", on, f.Xid, f.Err, f.body)
		}
	}
}
