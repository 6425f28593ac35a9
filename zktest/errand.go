package zktest

import (
	"slices"

	"github.com/zkfence/zkfence/internal/wire"
)

// errand is what a server of an ensemble has been asked for and has not
// answered. The leader carries it out, in the place where it arrives there.
type errand struct {
	n     uint64 // its number at the server that was asked
	c     *conn  // who asked; nil for an operator
	waits bool   // for the leader
	size  int    // of the request

	// One of the two: a write, whose transaction comes back through the log; or
	// something to do, possibly nothing, whose end is awaited as a Sync is.
	judge func(leader *Server) txn
	run   func(leader *Server) error

	finish func(t *txn, stats []Stat) // answers it; t is nil unless it is a write
	t      *txn
	stats  []Stat

	// Of an operator's. Once done is closed, they are the operator's to read, and
	// the leader may yet carry it out.
	err       error
	forgotten bool
	done      chan struct{} // closed at the end
}

// origin tells which request a transaction comes from.
type origin struct {
	server int
	n      uint64
}

// receive takes a frame of a client. Until a write or a Sync of a connection is
// answered what was sent behind it waits; writes go on to the leader meanwhile.
func (m *member) receive(c *conn, payload []byte) {
	s := m.s
	switch {
	case !m.serving:
		s.close(c)
		return
	case c.greeting:
		c.held = append(c.held, payload)
		c.out.hold(len(payload))
		return
	case c.session == 0:
		s.connect(c, payload)
		return
	}
	h, err := wire.ParseRequestHeader(payload)
	if err != nil {
		s.close(c)
		return
	}
	body := payload[wire.RequestHeaderLen:]
	switch h.Op {
	case OpSetAuth:
		s.auth(c, h, wire.NewDecoder(body))
		return
	case OpSASL:
		s.sasl(c, h, wire.NewDecoder(body))
		return
	}
	if !m.heardFrom(c) {
		return
	}
	r := &errand{c: c, size: len(payload)}
	c.out.hold(r.size)
	switch {
	case isWrite(h.Op):
		who := c.author()
		who.ids = slices.Clone(who.ids)
		r.judge = func(leader *Server) txn {
			if code := leader.admits(m, h.Op, who.session); code != wire.OK {
				return txn{op: h.Op, session: who.session, code: code}
			}
			return leader.judge(h.Op, wire.NewDecoder(body), who)
		}
		r.finish = func(t *txn, stats []Stat) { s.answer(c, h, t, stats) }
	case h.Op == OpSync && m.lead == nil:
		r.run = func(*Server) error { return nil }
		fallthrough
	default:
		r.finish = func(*txn, []Stat) { s.serveRead(c, h, wire.NewDecoder(body)) }
		if m.lead != nil && s.admits(m, h.Op, c.session) == wire.SessionMoved {
			// The leader knows where the session is. A follower reads on.
			r.finish = func(*txn, []Stat) { s.close(c) }
		}
	}
	c.line = append(c.line, r)
	if r.judge != nil || r.run != nil {
		m.submit(r)
	}
	m.drain(c)
}

// heardFrom notes that a session's client lives; false if it does so in vain.
func (m *member) heardFrom(c *conn) bool {
	if m.lead != nil {
		return m.s.touch(c.session, c.timeout)
	}
	m.touched[c.session] = c.timeout
	return true
}

// submit brings a request to the leader.
func (m *member) submit(r *errand) {
	m.requests++
	r.n, r.waits = m.requests, true
	m.waiting[r.n] = r
	if m.lead != nil {
		m.perform(m, nil, r)
		return
	}
	b := m.bond
	b.post(m, func() { b.leader.perform(m, b, r) })
}

// settle is called once this server has applied what a request has led to.
func (m *member) settle(n uint64, t *txn, stats []Stat) {
	r := m.waiting[n]
	if r == nil {
		return
	}
	delete(m.waiting, n)
	r.waits, r.t, r.stats = false, t, stats
	if r.c != nil {
		m.drain(r.c)
	} else if r.done != nil {
		m.s.told = append(m.s.told, r.done)
	}
}

// drain answers the requests of a connection, as far as nothing is in their way.
func (m *member) drain(c *conn) {
	for len(c.line) > 0 && !c.line[0].waits && !c.over {
		r := c.line[0]
		c.line[0] = nil
		c.line = c.line[1:]
		c.out.release(r.size)
		r.finish(r.t, r.stats)
	}
}

// forsake ends all that waits for a leader that there is no more.
func (m *member) forsake() {
	numbers := make([]uint64, 0, len(m.waiting))
	for n := range m.waiting {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		if r := m.waiting[n]; r.done != nil {
			r.err, r.forgotten = ErrNotServing, true
			m.s.told = append(m.s.told, r.done)
		}
	}
	clear(m.waiting)
}

// command has the leader do something, and returns once this server has applied
// what came of it.
func (s *Server) command(run func(leader *Server) error) error {
	s.mu.Lock()
	if s.member == nil {
		defer s.unlock()
		if s.closed {
			return ErrNotServing
		}
		return run(s)
	}
	if !s.member.serving || s.stalled != nil {
		s.unlock()
		return ErrNotServing
	}
	r := &errand{done: make(chan struct{})}
	r.run = func(leader *Server) error {
		err := run(leader)
		if !r.forgotten {
			r.err = err
		}
		return err
	}
	s.member.submit(r)
	s.unlock()
	<-r.done
	return r.err
}
