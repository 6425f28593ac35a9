package zktest

import (
	"fmt"
	"time"
)

// Isolate cuts a server from all others, both ways: what they send each other
// waits, and nobody is told. A follower answers reads and pings until it has
// heard nothing for the sync limit, a leader answers all but writes until it
// misses its majority; then they close their clients' connections, and accept
// no other. Clients still reach the server meanwhile. Heal ends it.
//
// Isolate panics if s is none of the ensemble's servers.
func (e *Ensemble) Isolate(s *Server) {
	m := e.own(s)
	e.group.mu.Lock()
	defer e.group.unlock()
	s.acted("Isolate", Request{}, "")
	for _, o := range e.members {
		e.link(m, o).cut()
		e.link(o, m).cut()
	}
	e.announce()
}

// CutOneWay cuts what one server sends another, until Heal: it waits, and nobody
// is told. It panics if one of them is none of the ensemble's servers.
func (e *Ensemble) CutOneWay(from, to *Server) {
	a, b := e.own(from), e.own(to)
	e.group.mu.Lock()
	defer e.group.unlock()
	from.acted("CutOneWay", Request{}, fmt.Sprintf("to server %d", b.id))
	e.link(a, b).cut()
	e.announce()
}

// Depose makes the leader's followers lose it at once, while it notices nothing:
// their connections to it are reset, and what they send it is held back. They
// elect another; the old one goes on answering Syncs, reads and handshakes as a
// leader until it misses its majority, at most the sync limit and one tick
// later. No write that it is given is ever answered. Heal lets it rejoin.
//
// Depose returns the old leader; nil, and nothing has happened, if there is no
// leader.
func (e *Ensemble) Depose() *Server {
	e.group.mu.Lock()
	defer e.group.unlock()
	old := e.leader()
	if old == nil {
		return nil
	}
	old.acted("Depose", Request{}, "")
	for _, o := range e.members {
		e.link(o, old.member).cut()
	}
	for _, o := range e.members {
		switch {
		case o.bond == nil || o.bond.leader != old.member:
		case o.s.stalled != nil:
			o.bond.tell(o) // notices once it goes on
		default:
			o.look()
		}
	}
	e.announce()
	return old
}

// Elect ends every connection between servers, so that all of them lose their
// clients and elect a leader, possibly the same one. AwaitLeader waits for it.
func (e *Ensemble) Elect() {
	e.group.mu.Lock()
	defer e.group.unlock()
	for _, m := range e.members {
		if m.role != down && m.s.stalled == nil {
			m.s.acted("Elect", Request{}, "")
			m.look()
		}
	}
}

// Lag makes a server apply what has been committed by d later: its clients read
// an old view, and those that have seen a newer one are refused until it has
// caught up. The answers to writes, Syncs and the handshakes of new sessions at
// that server are as late. It holds for what waits already, so that a lag of 0
// lets the server catch up at once. More than a century is one. Lag panics if d is
// negative or s is none of the ensemble's servers.
func (e *Ensemble) Lag(s *Server, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("zktest: Lag: %v is negative", d))
	}
	m := e.own(s)
	e.group.mu.Lock()
	defer e.group.unlock()
	s.acted("Lag", Request{}, d.String())
	m.apply.setLag(m, min(d, longest))
}

// Kill ends a server's process: its connections to clients and to other servers
// end at once, and until Restart new ones are closed. Its log stays. Kill panics
// if s is none of the ensemble's servers.
func (e *Ensemble) Kill(s *Server) {
	m := e.own(s)
	e.group.mu.Lock()
	defer e.group.unlock()
	if m.role != down {
		s.acted("Kill", Request{}, "")
		m.become(down)
	}
}

// Restart starts a killed server's process again; one that runs stays as it is.
// Restart panics if s is none of the ensemble's servers.
func (e *Ensemble) Restart(s *Server) {
	m := e.own(s)
	e.group.mu.Lock()
	defer e.group.unlock()
	if m.role == down && !m.s.closed {
		s.acted("Restart", Request{}, "")
		m.look()
	}
}

// Heal takes back Isolate, CutOneWay, Depose and Lag. What was held back sets out now,
// unless the connection that it belongs to has been given up. Killed and stalled
// servers stay so, and so do the servers' own Faults.
func (e *Ensemble) Heal() {
	e.group.mu.Lock()
	defer e.group.unlock()
	for _, from := range e.members {
		for _, to := range e.members {
			e.link(from, to).heal()
		}
	}
	for _, m := range e.members {
		m.s.acted("Heal", Request{}, "of the ensemble")
		m.apply.setLag(m, 0)
	}
	e.announce()
	e.reconsider()
}

func (e *Ensemble) own(s *Server) *member {
	if s == nil || s.member == nil || s.member.e != e {
		panic("zktest: no server of this ensemble")
	}
	return s.member
}

// goOn has a server that was stalled do what came due meanwhile.
func (m *member) goOn() {
	held, at := m.held, m.e.agenda.now()
	m.held = nil
	for _, do := range held {
		at = m.at(at+1, do)
	}
	m.e.announce()
	m.e.reconsider()
}
