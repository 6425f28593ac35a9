package zktest

// look gives up all that this server was and looks for a leader.
func (m *member) look() {
	m.become(looking)
	m.poll()
}

// poll has the server take part in an election after a while.
func (m *member) poll() {
	if m.polling || m.role != looking {
		return
	}
	m.polling = true
	m.at(m.e.agenda.now()+m.e.election.draw(m.e.rng), func() {
		m.polling = false
		if m.role != looking {
			return
		}
		if l := m.e.leaderFor(m); l != nil {
			m.follow(l)
			return
		}
		m.e.elect()
	})
}

// reconsider has all that look for a leader try again: something has changed.
func (e *Ensemble) reconsider() {
	for _, m := range e.members {
		m.poll()
	}
}

// leaderFor returns the leader that a server can join: one that it can talk to,
// of an epoch that it may heed.
func (e *Ensemble) leaderFor(m *member) *member {
	var best *member
	for _, l := range e.members {
		if l.lead != nil && e.joined(l, m) && l.lead.epoch >= m.accepted && (best == nil || l.lead.epoch > best.lead.epoch) {
			best = l
		}
	}
	return best
}

// elect makes a leader if some server has the votes of a majority: of servers
// that it can talk to and whose logs are not longer than its own, so that it has
// all that was ever committed.
func (e *Ensemble) elect() {
	var winner *member
	var voters []*member
	for _, c := range e.members {
		if c.role != looking || c.s.stalled != nil {
			continue
		}
		votes := []*member{c}
		for _, v := range e.members {
			if v != c && v.role == looking && e.joined(c, v) && v.before(c) {
				votes = append(votes, v)
			}
		}
		if e.majority(len(votes)) && (winner == nil || winner.before(c)) {
			winner, voters = c, votes
		}
	}
	if winner == nil {
		return
	}
	epoch := int64(0)
	for _, v := range voters {
		epoch = max(epoch, v.accepted)
	}
	epoch++
	winner.accepted = epoch
	winner.takeOver(epoch)
	for _, v := range voters[1:] {
		v.follow(winner)
	}
	e.reconsider()
}

// before reports whether a server's log makes it give its vote to another.
func (m *member) before(o *member) bool {
	switch {
	case m.current != o.current:
		return m.current < o.current
	case m.log.last() != o.log.last():
		return m.log.last() < o.log.last()
	}
	return m.id < o.id
}

// joined reports whether two servers can talk to each other, both ways.
func (e *Ensemble) joined(a, b *member) bool {
	return a != b && !e.link(a, b).isCut && !e.link(b, a).isCut && a.s.stalled == nil && b.s.stalled == nil
}

// majority reports whether n servers are one.
func (e *Ensemble) majority(n int) bool { return 2*n > len(e.members) }

// count lets an elected leader rule once a majority is in step with it.
func (e *Ensemble) count(m *member) {
	n := 1
	for _, b := range m.lead.bonds {
		if b.synced {
			n++
		}
	}
	if e.majority(n) {
		m.rule()
	}
}
