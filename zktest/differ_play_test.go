package zktest_test

import (
	"fmt"
	"math/rand/v2"

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
		z := p.after[len(p.after)-1] - int64(back)
		if !p.canon.exact {
			z += farAhead // others may write meanwhile
		}
		return z
	}
	return p.after[max(0, len(p.after)-1-back)]
}

const farAhead = 1 << 40

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
