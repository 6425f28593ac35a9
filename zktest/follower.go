package zktest

import "time"

// follow begins to follow a leader: it asks to be brought in step.
func (m *member) follow(l *member) {
	epoch := l.lead.epoch
	m.become(following)
	m.accepted = epoch
	m.bond = m.e.newBond(l, m, epoch)
	b, log, applied := m.bond, m.log, m.applied
	b.watch(m)
	b.post(m, func() { l.join(b, log, applied) })
}

// catchUp makes this server's log the leader's: a snapshot if need be, what they
// share up to from, and the entries behind it. What the leader does not have was
// never committed.
func (m *member) catchUp(b *bond, snapshot *state, from int64, entries []*txn) {
	if snapshot != nil {
		m.s.state = *snapshot
		m.log = txnLog{base: from}
		m.known, m.applied = from, from
	}
	m.log.truncate(from)
	m.log.entries = append(m.log.entries, entries...)
	m.current = b.epoch
	last := m.log.last()
	b.settle(m)
	b.post(m, func() { b.leader.inStep(b, last) })
}

// upToDate is the leader's word that clients may be served.
func (m *member) upToDate(committed int64) {
	m.learn(committed)
	m.serve()
}

func (m *member) proposal(b *bond, t *txn) {
	m.log.entries = append(m.log.entries, t)
	b.post(m, func() { b.leader.acknowledged(b, t.zxid) })
}

// pinged answers the leader's ping with the sessions whose clients this server
// has heard from since the last one.
func (m *member) pinged(b *bond) {
	touched := m.touched
	m.touched = map[int64]time.Duration{}
	b.post(m, func() {
		for id, timeout := range touched {
			b.leader.s.touch(id, timeout)
		}
	})
}
