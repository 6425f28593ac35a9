package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/zkfence/zkfence/zktest"
)

// call is one command being carried out.
type call struct {
	t       *target
	on      []*zktest.Target // in each server's faults
	servers []*zktest.Server
	scoped  bool // by "on", "for" or "from"
	args    []string
	print   func(string)
}

const scopes = "usage: on SERVER COMMAND…, for SESSION COMMAND… or from HOST COMMAND…"

// do carries out one line.
func (t *target) do(line string, print func(string)) error {
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	c := &call{t: t, servers: t.servers, print: print}
	for _, f := range t.faults {
		c.on = append(c.on, &f.Target)
	}
	among := slices.Concat(scoped(), local(), global())
	if words[0] == "on" {
		if len(words) < 3 {
			return errors.New(scopes)
		}
		k, err := t.number(words[1])
		if err != nil {
			return err
		}
		c.on, c.servers, c.scoped = c.on[k:k+1], c.servers[k:k+1], true
		words, among = words[2:], slices.Concat(scoped(), local())
	}
	var by, which string
	if words[0] == "for" || words[0] == "from" {
		if len(words) < 3 {
			return errors.New(scopes)
		}
		by, which = words[0], words[1]
		words, among = words[2:], scoped()
	}
	cmd := find(words[0], among)
	switch {
	case cmd == nil && find(words[0], slices.Concat(local(), global())) != nil:
		return fmt.Errorf("%s: does not act on less than the whole", words[0])
	case cmd == nil:
		return fmt.Errorf("%q: no such command; help lists them", words[0])
	case !t.has(cmd.needs) && cmd.needs == anEnsemble:
		return fmt.Errorf("%s: only with -ensemble", cmd.name)
	case !t.has(cmd.needs):
		return fmt.Errorf("%s: not with -proxy", cmd.name)
	}
	c.args = words[1:]
	names := strings.Fields(cmd.args)
	if strings.HasSuffix(cmd.args, "…]") && len(c.args) > len(names) {
		c.args = append(c.args[:len(names)-1:len(names)-1], after(line, len(words)-len(c.args)+len(names)-1))
	}
	if len(c.args) > len(names) || len(c.args) < len(names)-strings.Count(cmd.args, "[") {
		return fmt.Errorf("usage: %s", cmd.usage())
	}
	if by != "" {
		if err := c.narrow(by, which); err != nil {
			return err
		}
	}
	return cmd.run(c)
}

// after returns what follows the first n words of a line, as it is written.
func after(line string, n int) string {
	for range n {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		line = line[strings.IndexFunc(line, unicode.IsSpace):]
	}
	return strings.TrimSpace(line)
}

// narrow keeps one client of those that a command acts on.
func (c *call) narrow(by, which string) error {
	c.scoped = true
	if by == "from" {
		for i, on := range c.on {
			c.on[i] = on.From(which)
		}
		return nil
	}
	id, err := session(which)
	if err != nil {
		return err
	}
	// At any of the servers: the client may be about to come to this one.
	if !slices.ContainsFunc(c.t.faults, func(f *zktest.Faults) bool { return f.Seen(id) }) {
		return fmt.Errorf("session %s: no client has been given it", which)
	}
	for i, on := range c.on {
		c.on[i] = on.For(id)
	}
	return nil
}

// number reads which server of an ensemble is meant, from 1, and returns its place.
func (t *target) number(text string) (int, error) {
	if t.ensemble == nil {
		return 0, errors.New("servers have numbers only with -ensemble")
	}
	k, err := strconv.Atoi(text)
	if err != nil || k < 1 || k > len(t.servers) {
		return 0, fmt.Errorf("%q: no server, which has a number from 1 to %d", text, len(t.servers))
	}
	return k - 1, nil
}

func (c command) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

func (c *call) help() error {
	c.print("for SESSION COMMAND…, from HOST COMMAND…: one of the first group, on that client alone")
	if c.t.ensemble != nil {
		c.print("on SERVER COMMAND…: one of the first two groups, also after for and from, on that server alone")
	}
	c.print("OP: as ZooKeeper calls it, each by itself; Curator creates by create2, as kazoo does with include_data")
	c.print("    any: all but ping and createSession; any-create: create, create2, createContainer and createTTL")
	c.print("ERROR: its name or number, no-node, no-auth, node-exists, -101")
	c.print("    pending tells of faults that have met no such request")
	for _, group := range [][]command{scoped(), local(), global()} {
		c.print("")
		for _, cmd := range group {
			if c.t.has(cmd.needs) {
				c.print(fmt.Sprintf("%-32s %s", cmd.usage(), cmd.help))
			}
		}
	}
	return nil
}
