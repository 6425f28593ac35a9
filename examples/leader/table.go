package main

import (
	"fmt"
	"strings"
	"time"
)

// table draws a picture.
func (s *screen) table(now time.Time) []string {
	p := s.picture(now)
	title, _ := s.title.Load().(string)
	who := "nobody"
	if p.leader.Info != "" {
		who = p.leader.Info + " " + epoch(p.leader)
	}
	lines := []string{
		s.paint.bold(" zkfence leader ") + s.paint.dim(" "+title),
		"",
		s.paint.dim(fmt.Sprintf("  %-2s %-7s %-13s %-9s %-13s %-12s %8s %7s", "", "pid", "role", "last said", "token", "trust left", "accepted", "refused")),
	}
	for _, r := range p.rows {
		lines = append(lines, s.row(r))
	}
	refused := fmt.Sprintf("%d refused", p.refused)
	if p.refused > 0 {
		refused = s.paint.red(refused)
	}
	known := "nothing"
	if !p.known.Token.IsZero() {
		known = p.known.String()
	}
	return append(lines, "",
		"  observed to lead: "+s.paint.bold(who),
		fmt.Sprintf("  ledger: %d accepted, %s, newest %s", p.accepted, refused, known),
		"")
}

func (s *screen) row(r row) string {
	mark := "  "
	if r.observed {
		mark = "▶ "
	}
	trust := fmt.Sprintf("%-12s", "")
	if r.announced {
		trust = s.paint.trust(r.trust, r.timeout)
	}
	refused := fmt.Sprintf("%7d", r.refused)
	if r.refused > 0 {
		refused = s.paint.red(refused)
	}
	token, state := r.token, r.state
	if token == "" {
		token = "-"
	}
	if state == "" {
		state = "-"
	}
	left := fmt.Sprintf("%s%-2s %-7d %-13s %-9s %-13s ", mark, r.name, r.pid, r.role, state, token)
	switch r.mood {
	case leads:
		left = s.paint.green(left)
	case paused:
		left = s.paint.yellow(left)
	case gone:
		left = s.paint.dim(left)
	}
	return left + trust + fmt.Sprintf(" %8d ", r.accepted) + refused
}

// paint colours text, or does not.
type paint bool

func (p paint) with(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string   { return p.with("1", text) }
func (p paint) dim(text string) string    { return p.with("2", text) }
func (p paint) red(text string) string    { return p.with("1;31", text) }
func (p paint) green(text string) string  { return p.with("1;32", text) }
func (p paint) yellow(text string) string { return p.with("33", text) }

// trust is a bar of six cells, 12 columns wide with its figure.
func (p paint) trust(d, timeout time.Duration) string {
	const cells = 6
	full := 0
	if timeout > 0 {
		full = min(int((d*cells+timeout/2)/timeout), cells)
	}
	colour := p.green
	switch {
	case d <= 0:
		colour = p.red
	case full <= cells/3:
		colour = p.yellow
	}
	bar := strings.Repeat("█", full) + strings.Repeat("░", cells-full)
	return colour(bar) + fmt.Sprintf(" %-5s", left(d))
}
