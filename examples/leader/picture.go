package main

import (
	"fmt"
	"time"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/zklock"
)

// picture is how everything stood at one moment.
type picture struct {
	leader            election.Leader // as observed
	known             fencing.Stamp
	accepted, refused int
	rows              []row
}

// row is one candidate in a picture.
type row struct {
	name      string
	pid       int
	role      string
	mood      mood
	observed  bool   // it leads, as the observer has it
	state     string // as it has said last
	token     string
	trust     time.Duration // left to its term, by its own clock if it looked
	timeout   time.Duration
	accepted  int
	refused   int
	paused    string // "" or what it is and for how long
	announced bool   // trust means something
}

// mood is how a row looks.
type mood int

const (
	waits mood = iota
	leads
	paused
	gone
)

func (t *troupe) picture(now time.Time) picture {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := picture{leader: t.leader, known: t.known, accepted: t.accepted, refused: t.refused}
	for _, m := range t.members {
		p.rows = append(p.rows, m.row(now, t.leader))
	}
	return p
}

func (m *member) row(now time.Time, leader election.Leader) row {
	r := row{
		name: m.name, pid: m.process.OS().Pid, state: m.last.State, timeout: m.timeout,
		accepted: m.accepted, refused: m.refused, observed: leader.Info == m.name,
	}
	silent := now.Sub(m.heard)
	if !m.last.Token.IsZero() && !m.ended {
		// A stopped process does not look at its clock, which goes on all the same.
		r.token, r.trust, r.announced = m.last.Token.String(), max(m.last.Remaining-silent, 0), true
	}
	switch {
	case m.ended && m.killed:
		r.role, r.mood, r.state = "killed", gone, ""
	case m.ended:
		r.role, r.mood, r.state = "gone", gone, ""
	case !m.paused.IsZero():
		r.paused = m.pauser.What + " " + seconds(now.Sub(m.paused))
		r.role, r.mood = r.paused, paused
	case silent > time.Second && m.timeout > 0:
		r.role, r.mood = "silent "+seconds(silent), paused
	case r.announced && m.last.State == zklock.Held.String():
		r.role, r.mood = "leads", leads
	case r.announced:
		r.role = "in doubt"
	case m.last.Ahead > 0:
		r.role = "stands by" // it is not told when somebody leaves who is not next in front of it
	case m.timeout == 0:
		r.role = "connects"
	default:
		r.role = "campaigns"
	}
	return r
}

// seconds are of five letters at most, as the table has room for.
func seconds(d time.Duration) string {
	if s := d.Seconds(); s >= 99.9 {
		return fmt.Sprintf("%.0fs", s)
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// epoch is a leader's epoch as tokens are written.
func epoch(l election.Leader) string {
	if l.Epoch == 0 {
		return ""
	}
	return fmt.Sprintf("0x%x", l.Epoch)
}
