// Package zkconn is a process's connection to one ZooKeeper ensemble.
//
// It does not make an unfenced write safe. A process can be stopped between
// any check of its session and the write that follows it, for longer than the
// session lives; only the resource that is written to can refuse the late
// write, by the fencing token (package fencing). What this package promises is
// the early word: a kept session's Context ends, and Remaining reaches 0,
// before the ensemble can give what the session's ephemerals stand for to
// somebody else, as long as this process is allowed to run, its monotonic clock
// keeps pace with the servers' to within the safety margin, and nobody removes
// the ephemerals or ends the session by hand. An operator's delete or a wiped
// ensemble asks no clock: this process hears of it afterwards.
//
// # What counts as being known to the ensemble
//
// Not a TCP connection, and not an answer. A follower cut off from its quorum
// answers pings and reads; a leader deposed without knowing it answers syncs
// and reconnects as well. Only an answer that a majority had to commit counts,
// and it vouches for what the leader must have heard before. So, for a session
// timeout T as granted:
//
//	a leader touch at time a is known when a quorum proof p was answered and
//	    a = the start of a (re)connect handshake answered before p was sent, or
//	    a = the start of a request on the same connection that had been answered
//	        at least tick/2 + T/50 before p was sent
//	trusted until = newest known a + T - margin
//
// All of it is counted from before the send, on the monotonic clock. A kept
// session sends one such proof every T/8, a transaction that changes no data,
// and leaves a server on which one is unanswered for T/4. A session that nobody
// keeps sends none.
//
// # A session ends once
//
// It ends when the ensemble says so, when a server hands out another session in
// its place, when trusted time is over while it is kept, when it has been
// disconnected for T, or at Close. First the fuse blows: not one more byte of
// this session's requests leaves the process, so nothing queued on it can run on
// the next. Then its Context and every hold on it end. Only then the server is
// told, so that a successor need not wait for the timeout.
//
// # Credentials and TLS
//
// Credentials are presented on every new connection before any other request.
// With WithAuth and no WithACL all nodes that the recipes create are for their
// creator alone, the missing parents of a path among them.
// TLS is laid over whatever the dialer returns.
package zkconn
