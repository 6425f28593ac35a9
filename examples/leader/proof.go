package main

import (
	"errors"
	"fmt"

	"github.com/zkfence/zkfence/fencing"
)

// proof is what a ledger's history shows.
type proof struct {
	accepted, refused int
	terms             []term     // of which a command was accepted, in order
	late              []decision // commands refused because a newer leader had come
}

// term is what the ledger has accepted of one leadership.
type term struct {
	from        string
	first, last fencing.Stamp
	commands    int
}

// prove judges the history, by comparing Stamps and with nothing that the ledger
// has judged by. The error names the first step backwards: an accepted command
// that is not newer than every one accepted before it, or of a leader older than
// one that the ledger had heard of.
func prove(history []decision) (proof, error) {
	var p proof
	var last fencing.Stamp    // accepted
	var highest fencing.Token // heard of
	for i, d := range history {
		if d.Raise {
			if d.Reason == nil && d.Stamp.Token.Compare(highest) > 0 {
				highest = d.Stamp.Token
			}
			continue
		}
		if d.Reason != nil {
			p.refused++
			if errors.Is(d.Reason, fencing.ErrStale) && d.Stamp.Token.Compare(highest) < 0 {
				p.late = append(p.late, d)
			}
			if d.Stamp.Token.Compare(highest) > 0 {
				highest = d.Stamp.Token
			}
			continue
		}
		switch {
		case d.Stamp.Compare(last) <= 0:
			return p, fmt.Errorf("decision %d: %v of %s was accepted after %v: BACKWARDS", i+1, d.Stamp, d.From, last)
		case d.Stamp.Token.Compare(highest) < 0:
			return p, fmt.Errorf("decision %d: %v of %s was accepted after %v had come: BACKWARDS", i+1, d.Stamp, d.From, highest)
		}
		if len(p.terms) == 0 || d.Stamp.Token != last.Token {
			p.terms = append(p.terms, term{from: d.From, first: d.Stamp})
		}
		p.accepted++
		last, highest = d.Stamp, d.Stamp.Token
		t := &p.terms[len(p.terms)-1]
		t.last = last
		t.commands++
	}
	return p, nil
}

// whole returns what the script's story lacks.
func (p proof) whole() error {
	switch {
	case len(p.terms) < 2:
		return errors.New("nobody has taken over")
	case len(p.late) == 0:
		return errors.New("no late command was refused")
	}
	return nil
}

// lines tell the proof to people.
func (p proof) lines() []string {
	out := []string{fmt.Sprintf("%d commands accepted, %d refused", p.accepted, p.refused)}
	for _, t := range p.terms {
		out = append(out, fmt.Sprintf("  %v … %v  %d of %s", t.first, t.last, t.commands, t.from))
	}
	for _, d := range p.late {
		out = append(out, fmt.Sprintf("  %v of %s came late, after %v, and was refused", d.Stamp, d.From, d.Known))
	}
	return out
}
