package zktest

// Target is the connections that a fault breaks: all of them (the methods that
// Server and Proxy have themselves), those of one session (For), or those from
// one host (From).
//
// A session is known from its handshake on. A fault on a session therefore lets
// its new connections be accepted and acts when the handshake has been read,
// before anything of it is forwarded; only a fault on all connections or on a
// host can act on a client that has no session yet.
//
// Where faults on several targets cover one connection, any of them suffices.
// Methods that take a number of times apply to that many matching requests, or
// to every one for a negative number; 0 does nothing. Pending tells what has yet
// to happen. Heal takes all back.
type Target struct {
	f   *Faults
	sel selector
}

// For returns the connections of one session, now and later. A client that gets
// a new session is another target. Whether there is such a session is not
// checked: Seen tells.
func (t *Target) For(session int64) *Target {
	return &Target{f: t.f, sel: selector{session: session}}
}

// From returns the connections from one host: the client's IP address, or the
// name it dials with in a Network.
func (t *Target) From(host string) *Target {
	return &Target{f: t.f, sel: selector{host: host}}
}

// Cut closes both sides of every connection. Clients may connect again at once.
func (t *Target) Cut() {
	t.f.mu.Lock()
	var cut []*tap
	for _, c := range t.f.taps {
		if t.sel.matches(c.host, c.session) {
			cut = append(cut, c)
		}
	}
	t.acted("Cut", "")
	t.f.release()
	for _, c := range cut {
		c.hangUp()
	}
}

// DropReply forwards the next requests of kind op, swallows the reply to each
// and cuts that connection: the client cannot know what became of it. op is
// taken at its word; for creates see AnyCreate.
func (t *Target) DropReply(op Op, times int) { t.add("DropReply", dropReply, op, times) }

// DropRequest cuts the connection on which one of the next requests of kind op
// arrives, and does not forward it.
func (t *Target) DropRequest(op Op, times int) { t.add("DropRequest", dropRequest, op, times) }

// FailReply has the next requests of kind op refused with an error of the test's
// choice: the server does not carry them out and answers in turn, under its last
// zxid. A multi fails as a whole. It panics if code is CodeOK, which is no error.
// A handshake has no place for one.
func (t *Target) FailReply(op Op, code Code, times int) {
	if code == CodeOK {
		panic("zktest: FailReply: CodeOK is no error")
	}
	t.insert("FailReply", opName(op)+" "+code.String()+" ", &rule{kind: failReply, op: op, code: code, left: times})
}

// Steal has another session create what one of the next creates of a name that
// starts with _c_ asks for, same path, data and flags, open to everybody, and
// cuts the connection as DropReply does. The client finds a node with its GUID
// that is not its own. The session that owns it does not expire; delete the node
// to be rid of it.
func (t *Target) Steal(times int) { t.add("Steal", steal, AnyCreate, times) }

// NewSession lets clients that reconnect have a fresh session, without telling
// them that the one they asked for is gone. That one lives on until it expires.
func (t *Target) NewSession(times int) { t.add("NewSession", newSession, OpCreateSession, times) }

func (t *Target) add(method string, kind ruleKind, op Op, times int) {
	note := ""
	if kind == dropRequest || kind == dropReply {
		note = opName(op) + " "
	}
	t.insert(method, note, &rule{kind: kind, op: op, left: times})
}

func (t *Target) insert(method, note string, r *rule) {
	if r.left == 0 {
		return
	}
	r.sel = t.sel
	t.f.mu.Lock()
	defer t.f.release()
	t.f.rules = append(t.f.rules, r)
	t.acted(method, note+timesName(r.left))
}

// Refuse accepts new connections and closes them at once. Existing ones stay:
// Cut ends those.
func (t *Target) Refuse(on bool) { t.set("Refuse", onOff(on), func(m *mode) { m.refuse = on }) }

// Blackhole reads and forgets all that clients send, on existing connections
// and new ones, and sends them nothing. A connection on which it has swallowed
// anything stays so for its life, since frames are missing from it.
func (t *Target) Blackhole(on bool) {
	t.set("Blackhole", onOff(on), func(m *mode) { m.blackhole = on })
}

// HalfHandshake lets handshakes through and answers them with the first half of
// the reply, then with nothing: the session has been made or touched, and its
// client does not know.
func (t *Target) HalfHandshake(on bool) {
	t.set("HalfHandshake", onOff(on), func(m *mode) { m.half = on })
}

// ZxidAhead closes without an answer the connections of clients that have seen
// a zxid, as a server does whose own is smaller: nobody tells them that they
// have expired.
func (t *Target) ZxidAhead(on bool) { t.set("ZxidAhead", onOff(on), func(m *mode) { m.ahead = on }) }

// Freeze stops bytes in the directions given, in addition to those already
// frozen. Connections stay open, new ones are accepted, and nobody is told; the
// ends of connections wait as well. What is held flows after Unfreeze.
func (t *Target) Freeze(d Direction) { t.set("Freeze", d.String(), func(m *mode) { m.frozen |= d }) }

// Unfreeze lets bytes flow again, in order, what was held first.
func (t *Target) Unfreeze() { t.set("Unfreeze", "", func(m *mode) { m.frozen = 0 }) }

// Heal takes back every fault made on this very target; for others see HealAll,
// and the table in the package documentation. Connections that were
// broken stay so; hooks stay too.
func (t *Target) Heal() {
	t.f.mu.Lock()
	kept := t.f.rules[:0]
	for _, r := range t.f.rules {
		if r.sel != t.sel {
			kept = append(kept, r)
		}
	}
	clear(t.f.rules[len(kept):])
	t.f.rules = kept
	delete(t.f.modes, t.sel)
	t.acted("Heal", "")
	old := t.f.announce()
	t.f.release()
	close(old)
}

// HealAll takes back every fault, whichever target it was made on, as Heal does
// for one.
func (f *Faults) HealAll() {
	f.mu.Lock()
	f.rules = nil
	clear(f.modes)
	f.acted("HealAll", "")
	old := f.announce()
	f.release()
	close(old)
}

func (t *Target) set(method, note string, change func(*mode)) {
	t.f.mu.Lock()
	m := t.f.modes[t.sel]
	if m == nil {
		m = &mode{}
		t.f.modes[t.sel] = m
	}
	change(m)
	t.acted(method, note)
	old := t.f.announce()
	t.f.release()
	close(old)
}
