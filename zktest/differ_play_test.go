package zktest_test

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// player plays one script against one server and writes down what came back.
//
// After every step each connection is asked for a sync. Whatever a step has
// caused was queued before that is answered, so that every event is read at a
// step that is the same on every server, however slow.
type player struct {
	canon    canon
	encoder  encoder
	addr     string
	links    map[int]*link // by their numbers in the script
	had      map[int]*played
	sessions []*played
	observer *link   // a connection that takes no part in the script
	after    []int64 // the server's zxid before the script and after each step
	lines    []string
	now      int  // the step, from 1
	loose    bool // this step deletes znodes in an order that is not defined
}

// played is a session that the script has opened.
type played struct {
	id       int64
	password []byte
}

// perform plays a script and returns its transcript. An error says that the server
// could not be used at all. exact says that nobody else writes to it.
func perform(addr string, exact bool, script []step) ([]string, error) {
	root := fmt.Sprintf("/differ-%016x", rand.Uint64())
	p := &player{
		addr: addr, links: map[int]*link{}, had: map[int]*played{},
		canon: canon{root: root, sessions: map[int64]string{}, exact: exact},
	}
	p.encoder = encoder{root: root, seen: p.seen}
	defer p.hangUp()
	if err := p.begin(); err != nil {
		return nil, err
	}
	for i, s := range script {
		p.now = i + 1
		p.step(s)
		if err := p.gather(); err != nil {
			return nil, fmt.Errorf("step %d %s: %w", p.now, s, err)
		}
	}
	lines := make([]string, len(p.lines))
	for i, l := range p.lines {
		lines[i] = p.canon.line(l)
	}
	return lines, p.sweep()
}

func (p *player) begin() error {
	var err error
	if p.observer, err = dialLink(p.addr); err != nil {
		return err
	}
	if _, err := p.observer.greet(newSession.Append(nil)); err != nil {
		return err
	}
	f, err := p.observe(request{Op: opName(wire.OpCreate), Path: "~"})
	if err != nil || f.Err != 0 {
		return fmt.Errorf("the script's root: %v %w", f.Err, err)
	}
	p.canon.base = f.Zxid
	p.canon.own = []int64{f.Zxid}
	p.after = []int64{f.Zxid}
	return nil
}

// newSession is the handshake of a client that wants nothing special.
var newSession = wire.ConnectRequest{TimeoutMs: 60_000, Password: make([]byte, 16)}

// seen is the zxid before the given number of steps, or one that is still to
// come.
func (p *player) seen(back int) int64 {
	if back < 0 {
		return p.after[len(p.after)-1] - int64(back)
	}
	return p.after[max(0, len(p.after)-1-back)]
}

func (p *player) say(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf("%d ", p.now)+fmt.Sprintf(format, args...))
}

// observe sends a request from the observer and returns its answer. What else
// comes there is for the observer alone.
func (p *player) observe(r request) (frame, error) {
	if err := p.observer.write(p.append(nil, p.observer, r)); err != nil {
		return frame{}, err
	}
	for {
		f, err := p.observer.read(mustAnswer)
		if err != nil {
			return f, err
		}
		if f.Xid != wire.XidEvent {
			p.observer.waiting = p.observer.waiting[1:]
			return f, nil
		}
	}
}

// append appends a request's frame to buf and notes that its answer is due.
func (p *player) append(buf []byte, l *link, r request) []byte {
	if r.Xid == 0 {
		l.xid++
		r.Xid = l.xid
	}
	l.waiting = append(l.waiting, r)
	e := &wire.Encoder{Buf: wire.RequestHeader{Xid: r.Xid, Op: wire.Op(r.Op)}.Append(nil)}
	p.encoder.body(e, r)
	return wire.AppendFrame(buf, e.Buf)
}

func (p *player) step(s step) {
	switch {
	case s.Open != nil:
		p.open(s.On, *s.Open)
	case s.Expire != 0:
		p.expire(s.On, int32(s.Expire))
	case s.Reap != "":
		p.reap(s.On, s.Reap)
	case s.Drop:
		p.drop(s.On)
	case p.links[s.On] == nil:
		p.say("c%d is not connected", s.On)
	case s.Raw != "":
		l := p.links[s.On]
		if l.write(mustHex(s.Raw)) == nil {
			p.untilEnd(s.On, l)
		}
	default:
		p.ask(s.On, s.Ask)
	}
}

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
	if !ok || !mayEnd(last) || wire.Op(last.Op) == wire.OpSetAuth && f.Err == 0 {
		return
	}
	p.untilEnd(on, l)
}

// mayEnd reports whether a server may close the connection after a request. Such
// a one is the last in its step.
func mayEnd(r request) bool {
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

func (p *player) drop(on int) {
	if l := p.links[on]; l != nil {
		l.hangUp()
		delete(p.links, on)
	}
}

// gather reads what the step has caused on all connections.
func (p *player) gather() error {
	for on := range p.links {
		l := p.links[on]
		if err := l.write(p.append(nil, l, syncOf)); err != nil {
			continue // reading says so
		}
	}
	f, err := p.observe(syncOf)
	if err != nil {
		return err
	}
	if p.canon.exact && f.Zxid != p.seen(0) {
		p.say("zxid %s", p.canon.zxid(f.Zxid))
	}
	p.after = append(p.after, f.Zxid)
	for on := 1; on <= maxLinks; on++ {
		if l := p.links[on]; l != nil {
			p.read(on, l, p.loose)
		}
	}
	p.loose = false
	return nil
}

func (p *player) hangUp() {
	for _, l := range p.links {
		l.nc.Close()
	}
	if p.observer != nil {
		p.observer.nc.Close()
	}
}
