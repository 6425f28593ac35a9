package zktest

import (
	"cmp"
	"slices"
	"time"
)

// leadership is what only a leader has.
type leadership struct {
	epoch int64
	bonds []*bond // by the followers' ids
	zxid  int64   // the last one given
	half  bool    // the next half tick is a whole one
	syncs []awaited
}

// awaited is an answer that waits until zxid is committed.
type awaited struct {
	zxid int64
	send func()
}

func (l *leadership) drop(b *bond) {
	if i := slices.Index(l.bonds, b); i >= 0 {
		l.bonds = slices.Delete(l.bonds, i, i+1)
	}
}

// takeOver begins the leadership of a server that has been elected. It serves
// nobody before a majority has what is in its log.
func (m *member) takeOver(epoch int64) {
	m.become(leading)
	m.current, m.lead = epoch, &leadership{epoch: epoch, zxid: epoch << 32}
	m.within(m.e.agenda.now()+m.e.initLimit(), func() {
		if !m.serving {
			m.look()
		}
	})
	m.e.count(m)
}

// join takes a follower in and brings its log in step.
func (m *member) join(b *bond, theirs txnLog, applied int64) {
	if m.lead == nil || m.lead.epoch != b.epoch {
		b.close(m)
		return
	}
	m.lead.bonds = append(m.lead.bonds, b)
	slices.SortFunc(m.lead.bonds, func(x, y *bond) int { return cmp.Compare(x.follower.id, y.follower.id) })
	b.watch(m)
	var snapshot *state
	from, ok := m.log.common(theirs)
	if !ok || from < applied {
		copied := m.s.state.clone()
		snapshot, from = &copied, m.applied
	}
	entries := m.log.after(from)
	b.post(m, func() { b.follower.catchUp(b, snapshot, from, entries) })
}

// inStep is called when a follower has logged all that this leader began with.
func (m *member) inStep(b *bond, last int64) {
	if m.lead == nil {
		return
	}
	b.synced, b.acked = true, max(b.acked, last)
	b.settle(m)
	if m.serving {
		m.welcome(b)
		m.commit()
		return
	}
	m.e.count(m)
}

// rule begins once a majority is in step: all in the log is committed with that.
func (m *member) rule() {
	s := m.s
	m.known = m.log.last()
	s.ahead, s.tracker = &state{}, map[int64]*tracked{}
	m.serve()
	s.zxid = m.lead.zxid
	*s.ahead = s.state.clone()
	for id, known := range s.sessions {
		s.tracker[id] = &tracked{id: id, pinned: known.pinned}
		s.touch(id, known.timeout)
	}
	for _, b := range m.lead.bonds {
		if b.synced {
			m.welcome(b)
		}
	}
	now := m.e.agenda.now()
	m.within(now+s.tick/2, m.halfTick)
	m.every(s.tick, s.expireDue)
	m.every(s.reapEvery, func() { s.reap() })
	m.e.reconsider()
}

// welcome tells a follower in step that it may serve, and what is committed by now:
// of what comes later it does not even have the proposal.
func (m *member) welcome(b *bond) {
	known := m.known
	b.post(m, func() { b.follower.upToDate(known) })
}

// every has do called at each multiple of d while the leadership lasts.
func (m *member) every(d time.Duration, do func()) {
	if d <= 0 {
		return
	}
	m.within((m.e.agenda.now()/d+1)*d, func() {
		do()
		if m.lead != nil {
			m.every(d, do)
		}
	})
}

// halfTick looks for the followers' majority, every other time, and asks them
// all whether they live.
func (m *member) halfTick() {
	if m.lead.half && !m.e.majority(1+len(m.lead.bonds)) {
		m.look()
		return
	}
	m.lead.half = !m.lead.half
	for _, b := range m.lead.bonds {
		b.post(m, func() { b.follower.pinged(b) })
	}
	m.within(m.e.agenda.now()+m.s.tick/2, m.halfTick)
}

// perform carries out a request of a server; b is the way back, nil if it is the
// leader's own.
func (m *member) perform(from *member, b *bond, r *errand) {
	if r.judge != nil {
		t := r.judge(m.s)
		t.origin = origin{from.id, r.n}
		m.s.commit(&t, nil)
		return
	}
	// What an operator's is refused for is its own to remember.
	_ = r.run(m.s)
	settle := func() { from.later(func() { from.settle(r.n, nil, nil) }) }
	send := settle
	if b != nil {
		send = func() { b.post(m, settle) }
	}
	if last := m.log.last(); last > m.known {
		m.lead.syncs = append(m.lead.syncs, awaited{last, send})
		return
	}
	send()
}

// propose gives a transaction its place in the log and has the others agree.
func (m *member) propose(t txn) {
	m.lead.zxid++
	t.zxid = m.lead.zxid
	m.s.ahead.apply(&t, nil, func(int32, string, []acl) {})
	m.log.entries = append(m.log.entries, &t)
	for _, b := range m.lead.bonds {
		b.post(m, func() { b.follower.proposal(b, &t) })
	}
	m.commit()
}

// acknowledged is called when a follower has logged everything up to zxid.
func (m *member) acknowledged(b *bond, zxid int64) {
	b.acked = max(b.acked, zxid)
	m.commit()
}

// commit commits what a majority has logged, in order.
func (m *member) commit() {
	for _, t := range m.log.after(m.known) {
		n := 1
		for _, b := range m.lead.bonds {
			if b.synced && b.acked >= t.zxid {
				n++
			}
		}
		if !m.serving || !m.e.majority(n) {
			return
		}
		for _, b := range m.lead.bonds {
			b.post(m, func() { b.follower.learn(t.zxid) })
		}
		m.learn(t.zxid)
		for len(m.lead.syncs) > 0 && m.lead.syncs[0].zxid <= t.zxid {
			a := m.lead.syncs[0]
			m.lead.syncs = m.lead.syncs[1:]
			a.send()
		}
	}
}
