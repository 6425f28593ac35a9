// Package zktest is a ZooKeeper in memory, for tests.
//
// It is a standalone server, or an ensemble, that speaks the real wire protocol,
// so any client works with it. It promises no durability, no limit on memory and
// no speed; it is no server for production.
//
// A test that loses a reply, with go-zookeeper's client: the znode is created,
// and the client cannot know.
//
//	func TestLostReply(t *testing.T) {
//		server := zktest.New(t)
//		conn, _, err := zk.Connect([]string{server.Addr()}, 5*time.Second)
//		if err != nil {
//			t.Fatal(err)
//		}
//		defer conn.Close()
//
//		server.DropReply(zktest.OpCreate, 1)
//		_, err = conn.Create("/job", nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
//		if err == nil {
//			t.Error("the reply has arrived")
//		}
//		if !server.Exists("/job") {
//			t.Error("the znode was not created")
//		}
//	}
//
// Package bubble runs such a test in virtual time, where a session timeout of
// half a minute takes microseconds. The program cmd/zktest serves tests in other
// languages, with the same faults.
//
// # Faults
//
// Everything that a client can suffer is a method of Server, by way of Faults
// and Target: Cut, DropReply, DropRequest, FailReply, Refuse, Blackhole, Freeze,
// HalfHandshake, Steal, NewSession, ZxidAhead on every connection, or on one
// client's by For and From; and on the server itself Expire, Stall, Wipe,
// SetSequence, Set, Delete. At and AtReply do something at the very moment when a
// request arrives or is about to be answered. Count and Requests tell what has
// been sent, Trace prints it, and Follow tells all of it as it comes, to a
// slog.Logger by way of LogTo.
//
// A fault on an operation takes it at its word, and clients have several for one
// thing: go-zookeeper creates by OpCreate, Curator by OpCreate2. AnyCreate means
// every create, AnyOp every request, and Pending tells whether there is a fault
// that has met none.
//
// What is broken, and who takes it back:
//
//	                                   Target.Heal  HealAll of  Ensemble.  Ensemble.  Network.
//	                                                Faults      Heal       HealAll    HealAll
//	faults on that very target         yes          yes         -          yes        -
//	faults on every other target       -            yes         -          yes        -
//	Isolate, CutOneWay, Depose, Lag    -            -           yes        yes        -
//	Stall, Kill                        -            -           -          yes        -
//	Partition, PartitionOneWay         -            -           -          -          yes
//
// Server.Heal and Proxy.Heal are Target.Heal for the target that is everybody: what
// was made by For or From stays. Ensemble.HealAll means the faults of all servers,
// otherwise HealAll those of the one. Stall(false) and Restart end what they are
// about. Hooks, connections and sessions that have ended, and what an operator has
// done stay.
//
// # Ensembles
//
// NewEnsemble starts several servers that agree on one log, as ZooKeeper's do.
// Each serves clients at an address of its own; between them there are no sockets
// but a model of Zab, ZooKeeper's protocol, on one mutex and one clock, so that it
// runs in virtual time too, and there a seed repeats bit for bit, if no client
// shuffles its servers (package bubble has the conditions). What it models:
//
//   - Writes, Syncs and handshakes go to the leader, which judges writes by all that
//     it has proposed, and commits what a majority has logged. The others apply it
//     when they hear of the commit, which takes WithPeerDelay and WithApplyDelay,
//     and answer reads and pings from what they have applied. Requests behind a
//     write or Sync of the same connection wait for it.
//   - The leader tracks sessions. It hears of the clients of others by their answers
//     to its pings, every half tick, and by handshakes, not by forwarded requests.
//     After a session has moved, its old connection reads on at a follower, and ends
//     at the first write; at the leader it ends at the first request. A new leader
//     gives every session the timeout again that it began with.
//   - A follower that has heard nothing from its leader for WithSyncLimit closes its
//     clients' connections and looks for a leader; so does a leader that misses its
//     majority for as long, plus a tick at most. Until then it answers whatever
//     needs no majority: a follower reads and pings, a leader Syncs and handshakes
//     as well.
//   - An election takes WithElectionTime. Among servers that can talk to each other,
//     a majority, the one with the longest log wins, then the last in order. The
//     epoch in the zxids goes up and their counter starts again. What the winner has
//     in its log is committed, what only others have never happened.
//
// Isolate, CutOneWay, Depose, Elect, Lag, Kill and Restart break it, Heal takes back
// what can be; Stall of a server stops its process. AwaitLeader waits for an
// election, Followers tells who has joined; Trace and Count are of all servers.
//
//	ens := zktest.NewEnsemble(t, 3)
//	conn, _, err := zk.Connect(ens.Addrs(), 5*time.Second)
//	...
//	ens.Depose() // its leader answers on, and nothing that it is told is so
//
// What it does not model: observers, weights and reconfiguration; local sessions;
// a disk, which is always fast and never lost; votes that arrive one by one, so
// that no election fails halfway; and bandwidth between servers. A Network carries
// nothing of what servers tell each other: partitions of their hosts cut off
// clients alone.
//
// # Operations
//
// All that a client of ZooKeeper 3.8 can send, answered as a standalone server
// answers it in its default configuration, but with TTL nodes enabled
// (extendedTypesEnabled) and every four-letter word allowed:
//
//   - create, create2, createContainer, createTTL, delete, setData, setACL, multi,
//     check. Emptied containers and nodes past their TTL go when the server next
//     looks for them (WithContainerInterval, ReapContainers).
//   - exists, getData, getChildren, getChildren2, getACL, multiRead, sync,
//     getEphemerals, getAllChildrenNumber, whoAmI, ping.
//   - One-shot watches by the reads, persistent and recursive ones by addWatch,
//     removeWatches, checkWatches, setWatches and setWatches2. As in releases since
//     CVE-2024-23944, and in Debian's, who may not read a node gets no event of it.
//   - setAuth with digest and ip. There is no superuser. Other schemes, x509 and
//     sasl among them, fail as where they are not configured. ACLs of the schemes
//     world, digest, ip and auth are enforced.
//   - closeSession; reconfig, which is disabled; sasl, answered without a token.
//   - The words ruok, srvr, stat, mntr, conf, cons, crst, srst, dump, wchs, wchp,
//     wchc, isro, envi, dirs and gtmk, with the lines of the real ones. What has no
//     meaning here, such as latencies, is 0 or <NA>.
//
// Anything else gets error -6, and the connection ends.
//
// # Where it differs from ZooKeeper, and why
//
//   - Lists of children, the order of events to several clients and of the
//     ephemerals of an ended session are sorted: a test must be repeatable.
//   - Requests are judged one at a time, so that pipelined creates never see a
//     sequence number beyond the last one for a moment. SetSequence makes those.
//   - What kills a thread of ZooKeeper 3.8, and with it the server, has no effect
//     here and ends its connection: a check that succeeds outside of a multi, and a
//     createTTL of a node without TTL that gives a negative one.
//   - Lasting watches on a null path are refused. ZooKeeper takes them, and fails to
//     clean up when their connection ends.
//   - There are no quotas: nodes below /zookeeper/quota are like any other. They
//     limit nobody by default, and few clients know of them.
//   - The words hash and stmk are unknown, for they are about checks of files and
//     the log of a Java process; mntr has no lines for each top-level znode, for
//     they are of as many names as a test has.
//   - A setACL counts at once, and a multi that fails leaves nothing behind.
//     ZooKeeper judges what comes behind a setACL in one flight by the old list or by
//     the new one, as chance has it, and what comes behind a multi that asks for a TTL
//     without giving one as if what stands before that in the multi had been done.
//   - A null path in a multi is refused as what cannot be read, under a zxid of
//     its own. ZooKeeper shows that zxid with the next write, and sends the body
//     of an empty multi behind the error.
//   - A createSession from a client is an operation that nobody knows. ZooKeeper
//     gives the connection another session.
//   - A client may have as many connections as it likes. ZooKeeper closes those
//     beyond 60 from one address, unless maxClientCnxns says otherwise.
//   - Requests of a client are not read while 16 MiB wait: answers for it, and in an
//     ensemble what it has asked for and the leader has not carried out. Once 64 MiB
//     of events wait, or 10 s after its connection should have ended, it is cut off.
//     ZooKeeper keeps all, until its memory ends.
//   - A session that a client closes or loses is gone in the same instant; no
//     request that races with its end is answered with "session expired".
//
// # How it is built
//
// One mutex guards tree, watches and sessions, of an ensemble those of all servers,
// all of it pure state. Each
// connection has a reader, which shows frames to the fault layer and then takes
// the mutex to serve them, and a writer, which empties a queue. One goroutine
// keeps time. check.go judges writes without changing anything, tree.go applies
// what was judged: the changes are a log, and who applies the same log has the
// same tree.
package zktest
