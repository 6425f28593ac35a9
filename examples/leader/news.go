package main

import (
	"errors"
	"fmt"
	"time"
)

// hear takes note of what a candidate says.
func (t *troupe) hear(m *member, r report) {
	if r.Text != "" {
		token := ""
		if !r.Token.IsZero() {
			token = r.Token.String()
		}
		t.tl.Line(m.name, token, r.State, r.Text)
	}
	t.change(func() {
		m.last, m.heard = r, time.Now()
		switch r.What {
		case saysConnected:
			m.timeout = r.Timeout
		case saysHolding:
			m.holding = true
		case saysFailed:
			m.failed = errors.New(r.Text)
		}
	})
}

// note takes note of what the ledger has decided.
func (t *troupe) note(d decision) {
	var first bool
	t.change(func() {
		first = d.Reason == nil && !d.Raise && d.Stamp.Token.Compare(t.known.Token) >= 0 && (d.Stamp.Token != t.known.Token || t.known.Seq == 0)
		if d.Stamp.Compare(t.known) > 0 {
			t.known = d.Stamp
		}
		if d.Raise {
			return
		}
		count := func(accepted, refused *int) {
			if d.Reason == nil {
				*accepted++
			} else {
				*refused++
			}
		}
		count(&t.accepted, &t.refused)
		for _, m := range t.members {
			if m.name == d.From {
				count(&m.accepted, &m.refused)
			}
		}
	})
	switch {
	case d.Reason != nil && d.Raise:
		t.tl.Line("ledger", d.Stamp.Token.String(), "", fmt.Sprintf("REFUSED the floor %v: has seen %v", d.Stamp.Token, d.Known))
	case d.Reason != nil:
		t.tl.Line("ledger", d.Stamp.Token.String(), "", fmt.Sprintf("REFUSED %v of %s: has seen %v", d.Stamp, d.From, d.Known))
	case d.Raise:
		t.tl.Line("ledger", d.Stamp.Token.String(), "", "floor raised: nothing older is accepted from here on")
	case first:
		t.tl.Line("ledger", d.Stamp.Token.String(), "", fmt.Sprintf("accepts %v of %s, and what follows", d.Stamp, d.From))
	}
}
