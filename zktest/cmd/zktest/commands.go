package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/zkfence/zkfence/zktest"
)

// command is one word of the little language. args is how it is called, for help
// and for errors; a name in brackets may be left out.
type command struct {
	name, args, help string
	serverOnly       bool // a proxy cannot do it
	run              func(*call) error
}

// scoped are the commands that can act on one client: those that may follow "for"
// and "from".
func scoped() []command {
	return []command{
		{name: "cut", help: "close the connections", run: func(c *call) error { c.on.Cut(); return nil }},
		{name: "drop-reply", args: "OP [TIMES]", help: "carry out the next requests of that kind, lose the replies", run: (*call).dropReply},
		{name: "drop-request", args: "OP [TIMES]", help: "lose the next requests of that kind", run: (*call).dropRequest},
		{name: "steal", args: "[TIMES]", help: "let another session create the next _c_… node", run: (*call).steal},
		{name: "new-session", args: "[TIMES]", help: "give who reconnects a fresh session, silently", run: (*call).newSession},
		{name: "refuse", args: "on|off", help: "close new connections at once", run: func(c *call) error { return c.switched(c.on.Refuse) }},
		{name: "blackhole", args: "on|off", help: "read everything, answer nothing", run: func(c *call) error { return c.switched(c.on.Blackhole) }},
		{name: "half-handshake", args: "on|off", help: "answer handshakes with half a reply", run: func(c *call) error { return c.switched(c.on.HalfHandshake) }},
		{name: "zxid-ahead", args: "on|off", help: "refuse clients that have seen a zxid", run: func(c *call) error { return c.switched(c.on.ZxidAhead) }},
		{name: "freeze", args: "[to-server|to-client]", help: "let no byte pass", run: (*call).freeze},
		{name: "unfreeze", help: "let bytes pass again", run: func(c *call) error { c.on.Unfreeze(); return nil }},
		{name: "heal", help: "take back every fault of this very scope", run: func(c *call) error { c.on.Heal(); return nil }},
		{name: "count", args: "[OP]", help: "print how many requests there were", run: (*call).count},
		{name: "trace", args: "[N]", help: "print the last requests and events", run: (*call).trace},
	}
}

// unscoped are the others.
func unscoped() []command {
	return []command{
		{name: "expire", args: "SESSION", help: "end a session", run: (*call).expire},
		{name: "expire-all", help: "end every session", serverOnly: true, run: func(c *call) error { c.t.server.ExpireAll(); return nil }},
		{name: "sessions", help: "print each session, its timeout, connected or not, its ephemerals", serverOnly: true, run: (*call).sessions},
		{name: "create", args: "PATH [DATA]", help: "create a persistent node, and its parents", serverOnly: true, run: (*call).create},
		{name: "delete", args: "PATH", help: "delete a node and all below it", serverOnly: true, run: (*call).delete},
		{name: "get", args: "PATH", help: "print a node's data", serverOnly: true, run: (*call).get},
		{name: "children", args: "PATH", help: "print the names of a node's children", serverOnly: true, run: (*call).children},
		{name: "set-sequence", args: "PATH NEXT", help: "set the number that the next sequential child gets", serverOnly: true, run: (*call).setSequence},
		{name: "stall", args: "on|off", help: "stop the server, its clock included", serverOnly: true, run: func(c *call) error { return c.switched(c.t.server.Stall) }},
		{name: "reap", help: "delete containers that have been emptied", serverOnly: true, run: (*call).reap},
		{name: "wipe", help: "lose all data, sessions and the zxid", serverOnly: true, run: func(c *call) error { c.t.server.Wipe(); return nil }},
		{name: "reset-counts", help: "count from 0 again", run: func(c *call) error { c.t.faults.ResetCounts(); return nil }},
		{name: "help", help: "print this", run: (*call).help},
	}
}

func find(name string, among []command) *command {
	for i := range among {
		if among[i].name == name {
			return &among[i]
		}
	}
	return nil
}

// do carries out one line.
func (t *target) do(line string, print func(string)) error {
	c := &call{t: t, on: t.Target, print: print}
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	among := append(scoped(), unscoped()...)
	if words[0] == "for" || words[0] == "from" {
		if len(words) < 3 {
			return errors.New("usage: for SESSION COMMAND… or from HOST COMMAND…")
		}
		if words[0] == "from" {
			c.on = t.From(words[1])
		} else {
			id, err := session(words[1])
			if err != nil {
				return err
			}
			c.on = t.For(id)
		}
		words, among = words[2:], scoped()
	}
	cmd := find(words[0], among)
	switch {
	case cmd == nil && find(words[0], unscoped()) != nil:
		return fmt.Errorf("%s: acts on the whole server", words[0])
	case cmd == nil:
		return fmt.Errorf("%q: no such command; help lists them", words[0])
	case cmd.serverOnly && t.server == nil:
		return fmt.Errorf("%s: not with -proxy", cmd.name)
	}
	c.args = words[1:]
	names := strings.Fields(cmd.args)
	if len(c.args) > len(names) || len(c.args) < len(names)-strings.Count(cmd.args, "[") {
		return fmt.Errorf("usage: %s", cmd.usage())
	}
	return cmd.run(c)
}

func (c command) usage() string { return strings.TrimSpace(c.name + " " + c.args) }

func (c *call) help() error {
	c.print("for SESSION COMMAND…, from HOST COMMAND…: one of the first group, on that client alone")
	for _, group := range [][]command{scoped(), unscoped()} {
		c.print("")
		for _, cmd := range group {
			if !cmd.serverOnly || c.t.server != nil {
				c.print(fmt.Sprintf("%-32s %s", cmd.usage(), cmd.help))
			}
		}
	}
	return nil
}

// call is one command being carried out.
type call struct {
	t     *target
	on    *zktest.Target
	args  []string
	print func(string)
}
