package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
)

// key is one line that somebody has typed.
type key struct {
	verb byte // p, r, k, a, q
	n    int  // of the candidate; 0: it goes without saying
}

var errKeys = errors.New("no such key: p, r or k, with a number or without, a, or q; then Enter")

// What can be typed, in lines that fit into the table.
const (
	helpKeys  = "p 2 pause · r 2 resume · k 2 kill · a add one · q quit, and Enter after each"
	helpAlone = "alone, p and k mean the leader, r the first that is paused"
)

func parseKey(line string) (key, error) {
	verb, number, _ := strings.Cut(strings.TrimSpace(line), " ")
	if len(verb) > 1 { // "p2"
		verb, number = verb[:1], verb[1:]+number
	}
	if verb == "" || !strings.Contains("prkaq", verb) {
		return key{}, errKeys
	}
	k := key{verb: verb[0]}
	number = strings.TrimPrefix(strings.TrimSpace(number), "C")
	if number == "" {
		return k, nil
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || k.verb == 'a' || k.verb == 'q' {
		return key{}, errKeys
	}
	k.n = n
	return k, nil
}

// interact does what is typed, until q or the end of ctx. The end of the keys is
// no reason to end: they may never have been there.
func (p *play) interact(ctx, lives context.Context) error {
	lines := make(chan string)
	if p.keys != nil {
		go func() { // ends with the keys, or with the process: nothing wakes a reader of a terminal
			defer close(lines)
			for typed := bufio.NewScanner(io.LimitReader(p.keys, 1<<20)); typed.Scan(); {
				select {
				case lines <- typed.Text():
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				lines = nil
				continue
			}
			quit, err := p.obey(ctx, lives, line)
			if err != nil {
				p.say("%q: %v", line, err)
			}
			if p.screen != nil {
				p.screen.answer()
			}
			if quit {
				return nil
			}
		case <-ctx.Done():
			return nil
		}
	}
}

func (p *play) obey(ctx, lives context.Context, line string) (quit bool, err error) {
	if strings.TrimSpace(line) == "" {
		return false, nil
	}
	k, err := parseKey(line)
	if err != nil {
		return false, err
	}
	switch k.verb {
	case 'a':
		return false, p.troupe.add(lives)
	case 'q':
		return true, nil
	case 'r':
		if k.n == 0 {
			k.n = p.troupe.firstPaused()
		}
	}
	m, err := p.troupe.member(k.n)
	if err != nil {
		return false, err
	}
	switch k.verb {
	case 'p':
		err = p.troupe.pause(ctx, m)
	case 'r':
		err = p.troupe.resume(m)
	case 'k':
		err = p.troupe.kill(m)
	default:
		err = errKeys
	}
	return false, err
}
