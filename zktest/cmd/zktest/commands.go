package main

import "github.com/zkfence/zkfence/zktest"

// command is one word of the little language. args is how it is called, for help
// and for errors; a name in brackets may be left out.
type command struct {
	name, args, help string
	needs            need
	run              func(*call) error
}

// need is what a command cannot do without.
type need uint8

const (
	nothing    need = iota
	aServer         // and no proxy
	anEnsemble      // and no single server
)

func (t *target) has(n need) bool {
	return n == nothing || n == aServer && t.servers != nil || n == anEnsemble && t.ensemble != nil
}

// scoped are the commands that can act on one client: those that may follow "for",
// "from" and "on".
func scoped() []command {
	return []command{
		{name: "cut", help: "close the connections", run: func(c *call) error { return c.each((*zktest.Target).Cut) }},
		{name: "drop-reply", args: "OP [TIMES]", help: "carry out the next requests of that kind, lose the replies", run: (*call).dropReply},
		{name: "drop-request", args: "OP [TIMES]", help: "lose the next requests of that kind", run: (*call).dropRequest},
		{name: "fail-reply", args: "OP ERROR [TIMES]", help: "answer the next requests of that kind with an error, and do not carry them out", run: (*call).failReply},
		{name: "steal", args: "[TIMES]", help: "let another session create the next _c_… node", run: (*call).steal},
		{name: "new-session", args: "[TIMES]", help: "give who reconnects a fresh session, silently", run: (*call).newSession},
		{name: "refuse", args: "on|off", help: "close new connections at once", run: func(c *call) error { return c.switched((*zktest.Target).Refuse) }},
		{name: "blackhole", args: "on|off", help: "read everything, answer nothing", run: func(c *call) error { return c.switched((*zktest.Target).Blackhole) }},
		{name: "half-handshake", args: "on|off", help: "answer handshakes with half a reply", run: func(c *call) error { return c.switched((*zktest.Target).HalfHandshake) }},
		{name: "zxid-ahead", args: "on|off", help: "refuse clients that have seen a zxid", run: func(c *call) error { return c.switched((*zktest.Target).ZxidAhead) }},
		{name: "freeze", args: "[to-server|to-client]", help: "let no byte pass", run: (*call).freeze},
		{name: "unfreeze", help: "let bytes pass again", run: func(c *call) error { return c.each((*zktest.Target).Unfreeze) }},
		{name: "heal", help: "take back every fault of this very scope", run: (*call).heal},
		{name: "pending", help: "print how many times faults have yet to happen; one that always does counts until it has", run: (*call).pending},
		{name: "count", args: "[OP]", help: "print how many requests there were", run: (*call).count},
		{name: "trace", args: "[N]", help: "print the last requests and events", run: (*call).trace},
	}
}

// local are those that act on one server, and may follow "on" alone.
func local() []command {
	return []command{
		{name: "stall", args: "on|off", help: "stop the server, its clock included", needs: aServer, run: (*call).stall},
		{name: "sessions", help: "print each session, its timeout, connected or not, its ephemerals", needs: aServer, run: (*call).sessions},
		{name: "get", args: "PATH", help: "print a node's data", needs: aServer, run: (*call).get},
		{name: "children", args: "PATH", help: "print the names of a node's children", needs: aServer, run: (*call).children},
	}
}

// global are those that act on everything.
func global() []command {
	return []command{
		{name: "expire", args: "SESSION", help: "end a session", run: (*call).expire},
		{name: "expire-all", help: "end every session", needs: aServer, run: func(c *call) error { c.t.head().ExpireAll(); return nil }},
		{name: "create", args: "PATH [DATA…]", help: "create a persistent node, and its parents; the rest of the line is its data", needs: aServer, run: (*call).create},
		{name: "set", args: "PATH [DATA…]", help: "replace a node's data with the rest of the line", needs: aServer, run: (*call).set},
		{name: "delete", args: "PATH", help: "delete a node and all below it", needs: aServer, run: (*call).delete},
		{name: "set-sequence", args: "PATH NEXT", help: "set the number that the next sequential child gets", needs: aServer, run: (*call).setSequence},
		{name: "reap", help: "delete emptied containers and nodes past their TTL, print how many", needs: aServer, run: (*call).reap},
		{name: "wipe", help: "lose all data, sessions and the zxid", needs: aServer, run: func(c *call) error { c.t.head().Wipe(); return nil }},
		{name: "leader", help: "print the number of the server that leads", needs: anEnsemble, run: (*call).leader},
		{name: "await-leader", args: "DURATION", help: "wait until a server leads, and print its number", needs: anEnsemble, run: (*call).awaitLeader},
		{name: "elect", help: "let the servers elect a leader", needs: anEnsemble, run: func(c *call) error { c.t.ensemble.Elect(); return nil }},
		{name: "depose", help: "depose the leader without its knowing, and print its number", needs: anEnsemble, run: (*call).depose},
		{name: "isolate", args: "SERVER", help: "cut a server from all others, not from its clients", needs: anEnsemble, run: (*call).isolate},
		{name: "lag", args: "SERVER DURATION", help: "let a server apply what is committed by so much later", needs: anEnsemble, run: (*call).lag},
		{name: "kill", args: "SERVER", help: "end a server", needs: anEnsemble, run: (*call).kill},
		{name: "restart", args: "SERVER", help: "start a killed server again", needs: anEnsemble, run: (*call).restart},
		{name: "reset-counts", help: "count from 0 again", run: (*call).resetCounts},
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
