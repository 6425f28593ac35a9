package zktest_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"github.com/zkfence/zkfence/internal/wire"
)

// How long a server may be silent where it has something to say, and how long
// it may keep a connection that it should close.
const (
	mustAnswer = 20 * time.Second
	mustEnd    = 3 * time.Second
)

// link is a connection of a player.
type link struct {
	nc      net.Conn
	r       *bufio.Reader
	xid     int32
	waiting []request // sent and not answered
}

func dialLink(addr string) (*link, error) {
	nc, err := net.DialTimeout("tcp", addr, mustAnswer)
	if err != nil {
		return nil, err
	}
	return &link{nc: nc, r: bufio.NewReader(nc)}, nil
}

func (l *link) write(b []byte) error {
	_, err := l.nc.Write(b)
	return err
}

// greet sends a handshake and reads the answer.
func (l *link) greet(payload []byte) (wire.ConnectResponse, error) {
	if err := l.write(wire.AppendFrame(nil, payload)); err != nil {
		return wire.ConnectResponse{}, err
	}
	answer, err := l.readFrame(mustAnswer)
	if err != nil {
		return wire.ConnectResponse{}, err
	}
	return wire.ParseConnectResponse(answer)
}

func (l *link) readFrame(wait time.Duration) ([]byte, error) {
	if err := l.nc.SetReadDeadline(time.Now().Add(wait)); err != nil {
		return nil, err
	}
	return wire.ReadFrame(l.r, 64<<20)
}

// read reads an answer or an event.
func (l *link) read(wait time.Duration) (frame, error) {
	payload, err := l.readFrame(wait)
	if err != nil {
		return frame{}, err
	}
	h, err := wire.ParseReplyHeader(payload)
	if err != nil {
		return frame{}, err
	}
	return frame{h, payload[wire.ReplyHeaderLen:]}, nil
}

// hangUp ends a connection and waits until the server has taken notice: others
// can see in checkWatches that there was a watch on it.
func (l *link) hangUp() {
	defer l.nc.Close()
	if c, ok := l.nc.(*net.TCPConn); !ok || c.CloseWrite() != nil {
		return
	}
	for {
		if _, err := l.readFrame(mustEnd); err != nil {
			return
		}
	}
}

func isSilence(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }

// open makes a connection and, on it, a new session or one that there was.
func (p *player) open(on int, o opening) {
	p.drop(on)
	r := wire.ConnectRequest{
		Protocol: o.Protocol, TimeoutMs: o.Timeout, Password: make([]byte, 16), HasReadOnly: o.Flag, ReadOnly: o.ReadOnly,
	}
	var sess *played
	switch {
	case o.Of < 0:
		r.Session = 0x1234
	case o.Of > 0:
		if sess = p.had[o.Of]; sess == nil {
			p.say("c%d has had no session", o.Of)
			return
		}
		r.Session, r.Password = sess.id, sess.password
	}
	switch o.Pass {
	case "wrong":
		r.Password = slices.Clone(r.Password)
		r.Password[15] ^= 1
	case "short":
		r.Password = r.Password[:7]
	case "null":
		r.Password = nil
	}
	switch o.Seen {
	case "last":
		r.LastZxid = p.seen(0)
	case "ahead":
		r.LastZxid = p.seen(-1)
	}
	payload := r.Append(nil)
	payload = payload[:max(0, len(payload)-o.Cut)]
	l, err := dialLink(p.addr)
	if err != nil {
		p.say("c%d cannot connect", on)
		return
	}
	w, err := l.greet(payload)
	if err != nil {
		p.ended(on, l, err)
		return
	}
	p.welcome(on, l, w, sess)
}

// welcome takes in what the server has granted.
func (p *player) welcome(on int, l *link, w wire.ConnectResponse, sess *played) {
	if w.Session != 0 && (sess == nil || sess.id != w.Session) {
		sess = &played{w.Session, w.Password}
		p.canon.sessions[w.Session] = fmt.Sprintf("s%d", len(p.sessions))
		p.sessions = append(p.sessions, sess)
	}
	password := fmt.Sprintf("%x", w.Password)
	if w.Session != 0 && string(w.Password) == string(sess.password) && len(w.Password) == 16 {
		password = "its own"
	}
	p.say("c%d %s password %s", on, p.canon.welcome(w), password)
	if w.Session == 0 {
		p.untilEnd(on, l)
		return
	}
	p.links[on], p.had[on] = l, sess
}

// expire lets the session of a connection expire. Nothing has to be in time: the
// session gets its short timeout after all else has been done, and the end of an
// ephemeral of its tells that it is over.
func (p *player) expire(on int, timeout int32) {
	p.open(on, opening{Of: on, Timeout: 60_000})
	l, sess := p.links[on], p.had[on]
	if l == nil {
		return
	}
	mark := p.canon.root + "-mark"
	buf := p.append(nil, l, request{Op: opName(wire.OpCreate), Path: mark, Flags: 1})
	if err := l.write(buf); err != nil {
		p.ended(on, l, err)
		return
	}
	if _, ok := p.read(on, l, false); !ok {
		return
	}
	again, err := dialLink(p.addr)
	if err != nil {
		p.say("c%d cannot connect", on)
		return
	}
	w, err := again.greet(wire.ConnectRequest{TimeoutMs: timeout, Session: sess.id, Password: sess.password}.Append(nil))
	if err != nil {
		p.ended(on, again, err)
		return
	}
	p.say("c%d %s, then nothing", on, p.canon.welcome(w))
	again.nc.Close()
	p.drop(on)
	p.await(mark)
	p.loose = true
}

// reap makes a znode that the server deletes by itself, and waits for that.
func (p *player) reap(on int, kind string) {
	if p.links[on] == nil {
		p.say("c%d is not connected", on)
		return
	}
	const box = "~/box"
	if kind == "ttl" {
		p.ask(on, []request{{Op: opName(wire.OpCreateTTL), Path: box, Flags: 5, TTL: 1}})
	} else {
		p.ask(on, []request{
			{Op: opName(wire.OpCreateContainer), Path: box, Flags: 4},
			{Op: opName(wire.OpCreate), Path: box + "/x"},
			{Op: opName(wire.OpDelete), Path: box + "/x", Version: -1},
		})
	}
	p.await(box)
}

// await waits until the server has deleted a znode.
func (p *player) await(path string) {
	f, err := p.observe(request{Op: opName(wire.OpExists), Path: path, Watch: true})
	for err == nil && f.Err == 0 {
		if f, err = p.observer.read(mustAnswer); err == nil && f.Xid == wire.XidEvent {
			d := wire.NewDecoder(f.body)
			if d.Int32(); d.Int32() == 3 && d.String() == p.encoder.path(path) {
				return
			}
		}
	}
	if err != nil {
		p.say("%s stays: %v", path, err)
	}
}
