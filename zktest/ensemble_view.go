package zktest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Followers returns the servers that follow the Leader and serve, in the order of
// Servers; none while there is no leader.
func (e *Ensemble) Followers() []*Server {
	e.group.mu.Lock()
	defer e.group.unlock()
	l := e.leader()
	if l == nil {
		return nil
	}
	var out []*Server
	for _, f := range e.members {
		if f.bond != nil && f.bond.leader == l.member && f.serving && e.joined(l.member, f) {
			out = append(out, f.s)
		}
	}
	return out
}

// Count returns how many requests of kind op all servers have been sent, each as
// Target.Count says.
func (e *Ensemble) Count(op Op) int {
	sum := 0
	for _, s := range e.servers {
		sum += s.Count(op)
	}
	return sum
}

// Pending returns what the servers' faults still wait for, as Target.Pending says.
func (e *Ensemble) Pending() int {
	sum := 0
	for _, s := range e.servers {
		sum += s.Pending()
	}
	return sum
}

// HealAll takes back everything: each server's Faults.HealAll, Stall and Kill, and
// what Heal does.
func (e *Ensemble) HealAll() {
	for _, s := range e.servers {
		s.HealAll()
		s.Stall(false)
		e.Restart(s)
	}
	e.Heal()
}

// Trace returns the last n entries of all servers' traces in the order of time, as
// Target.Trace does those of one, with the server's number, from 1, in front. An
// entry is about what reached that server. s1 is the session that comes first in
// what is remembered, whatever server it came to.
func (e *Ensemble) Trace(n int) string {
	type line struct {
		at     time.Duration
		server int
		Entry
	}
	var all []line
	for i, s := range e.servers {
		f := s.Faults
		f.mu.Lock()
		for _, entry := range f.log.all() {
			all = append(all, line{entry.At + f.epoch.Sub(e.group.epoch), i + 1, *entry})
		}
		f.mu.Unlock()
	}
	slices.SortStableFunc(all, func(a, b line) int { return cmp.Compare(a.at, b.at) })
	names := ledger{short: map[int64]int{}}
	for _, l := range all {
		if l.Session != 0 && names.short[l.Session] == 0 {
			names.short[l.Session] = len(names.short) + 1
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	ids, told := "", map[int64]bool{}
	for _, l := range all[max(0, len(all)-max(0, n)):] {
		// A Builder takes everything.
		_, _ = fmt.Fprintf(w, "%d:%12.6f\t%s\t%s\t%s\n", l.server, l.at.Seconds(), l.client(), names.name(l.Session), l.row())
		if l.Session != 0 && !told[l.Session] {
			told[l.Session] = true
			ids += fmt.Sprintf("  %s=%#x", names.name(l.Session), uint64(l.Session))
		}
	}
	_ = w.Flush()
	if ids != "" {
		b.WriteString("sessions:" + ids[1:] + "\n")
	}
	return b.String()
}
