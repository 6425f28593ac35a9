package zktest

import "time"

// bond is the connection between a leader and one follower. Each end is open
// until its server gives up, hears that the other has, or has heard nothing for
// too long.
type bond struct {
	e        *Ensemble
	leader   *member
	follower *member
	epoch    int64
	ends     [2]bondEnd // the leader's, the follower's

	// The leader's books.
	acked  int64 // the last zxid that the follower has logged
	synced bool  // the follower has acknowledged all that the leader began with
}

type bondEnd struct {
	open  bool
	heard time.Duration // when anything came last
	limit time.Duration // of the silence
	watch int           // tells the latest watch
}

func (e *Ensemble) newBond(leader, follower *member, epoch int64) *bond {
	b := &bond{e: e, leader: leader, follower: follower, epoch: epoch}
	for i := range b.ends {
		b.ends[i] = bondEnd{open: true, heard: e.agenda.now(), limit: e.initLimit()}
	}
	return b
}

func (b *bond) end(m *member) *bondEnd {
	if m == b.leader {
		return &b.ends[0]
	}
	return &b.ends[1]
}

func (b *bond) other(m *member) *member {
	if m == b.leader {
		return b.follower
	}
	return b.leader
}

// post sends something to the other end. Where that has been closed meanwhile
// it is lost, and the sender hears so.
func (b *bond) post(from *member, deliver func()) {
	if !b.end(from).open {
		return
	}
	to := b.other(from)
	b.e.link(from, to).carry(func() {
		end := b.end(to)
		if !end.open {
			b.tell(from)
			return
		}
		end.heard = b.e.agenda.now()
		deliver()
	})
}

// close closes m's end.
func (b *bond) close(m *member) {
	end := b.end(m)
	if end.open {
		end.open = false
		b.tell(b.other(m))
	}
}

// tell lets m know that the other end is closed.
func (b *bond) tell(m *member) {
	b.e.link(b.other(m), m).carry(func() { b.lose(m) })
}

// lose closes m's end, and m acts on it.
func (b *bond) lose(m *member) {
	if b.end(m).open {
		b.close(m)
		m.lost(b)
	}
}

// watch has m give up once it has heard nothing for too long.
func (b *bond) watch(m *member) {
	end := b.end(m)
	end.watch++
	watch := end.watch
	m.at(end.heard+end.limit, func() {
		switch {
		case !end.open || end.watch != watch:
		case b.e.agenda.now() >= end.heard+end.limit:
			b.lose(m)
		default:
			b.watch(m)
		}
	})
}

// settle makes the limit of m's end the one that holds once both are in step.
func (b *bond) settle(m *member) {
	b.end(m).limit = b.e.syncLimit()
	b.watch(m)
}
