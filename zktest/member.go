package zktest

import (
	"fmt"
	"time"
)

// role is what a server of an ensemble is to the others.
type role uint8

const (
	looking role = iota
	following
	leading
	down
)

func (r role) String() string {
	return [...]string{"looking for a leader", "about to follow", "about to lead", "down"}[r]
}

// member is a server's part in an ensemble. The group's mutex guards it.
type member struct {
	s    *Server
	e    *Ensemble
	id   int // from 1
	role role
	term int // counts changes of role: what was planned in an earlier one is off

	// serving says whether clients are served: not while the server looks for a
	// leader, nor before it has caught up with one.
	serving bool
	polling bool // an election is due

	accepted int64 // the latest epoch that it has promised to heed
	current  int64 // the epoch of the latest leader that it has caught up with
	log      txnLog
	known    int64 // the last zxid known to be committed
	applied  int64 // the last one applied; s.zxid can be a new leader's first

	bond    *bond       // to its leader
	lead    *leadership // of a leader
	touched map[int64]time.Duration

	requests uint64
	waiting  map[uint64]*errand

	apply lateQueue
	held  []func() // what was due while it was stalled
}

// at has do called at an instant, or once the server goes on if it is stalled
// then.
func (m *member) at(when time.Duration, do func()) time.Duration {
	return m.e.agenda.add(when, func() {
		if m.s.stalled != nil {
			m.held = append(m.held, do)
			return
		}
		do()
	})
}

// within has do called at an instant if the role is still the same.
func (m *member) within(when time.Duration, do func()) {
	term := m.term
	m.at(when, func() {
		if m.term == term {
			do()
		}
	})
}

// become ends a role, with all that came with it, and begins another.
func (m *member) become(r role) {
	m.term++
	m.role, m.serving = r, false
	m.note(r.String())
	if m.bond != nil {
		m.bond.close(m)
		m.bond = nil
	}
	if m.lead != nil {
		for _, b := range m.lead.bonds {
			b.close(m)
		}
		m.lead = nil
	}
	s := m.s
	s.ahead, s.tracker = nil, nil
	for _, c := range s.sortedConns() {
		s.close(c)
	}
	m.forsake()
	clear(m.touched)
	m.apply.clear()
	m.e.announce()
}

// lost is called when a bond has ended and this server did not want it.
func (m *member) lost(b *bond) {
	switch {
	case m.bond == b:
		m.look()
	case m.lead != nil:
		m.lead.drop(b)
		m.e.announce()
	}
}

// serve lets clients in once all that is known to be committed is applied.
func (m *member) serve() {
	for _, t := range m.log.after(m.applied) {
		if t.zxid <= m.known {
			m.carryOut(t)
		}
	}
	m.serving = true
	m.note(fmt.Sprintf("%s in epoch %d, from zxid %#x", m.s.mode(), m.current, m.known))
	m.e.announce()
}

func (m *member) note(part string) { m.s.put(Entry{Kind: Became, Note: part}) }

// learn applies, in its time, what has been committed up to zxid.
func (m *member) learn(zxid int64) {
	if zxid > m.log.last() {
		panic(fmt.Sprintf("zktest: server %d learns of commit %#x and has %#x", m.id, zxid, m.log.last()))
	}
	before := m.known
	m.known = max(m.known, zxid)
	if !m.serving {
		return
	}
	for _, t := range m.log.after(before) {
		// Not m.known: carrying out can commit more, which has then been learned.
		if t.zxid > zxid {
			break
		}
		m.later(func() { m.carryOut(t) })
	}
}

// later does something behind all that has been learned.
func (m *member) later(do func()) { m.apply.add(m, do) }

// carryOut applies a transaction, and answers it if it comes from here.
func (m *member) carryOut(t *txn) {
	var asked *conn
	from := uint64(0)
	if t.origin.server == m.id {
		from = t.origin.n
		if r := m.waiting[from]; r != nil {
			asked = r.c
		}
	}
	if t.zxid <= m.applied {
		panic(fmt.Sprintf("zktest: server %d applies %#x behind %#x", m.id, t.zxid, m.applied))
	}
	m.applied = t.zxid
	stats := m.s.carryOut(asked, t, nil)
	if from != 0 {
		m.settle(from, t, stats)
	}
	m.log.trim(m.applied)
}
