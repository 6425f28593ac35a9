// Package session is the engine under zkconn: one zk.Conn per ensemble session,
// and everything that must know when that session may still be trusted.
//
// It does not make an unfenced write safe; see zkconn for what is promised.
//
// # Invariants, and the interleaving that would break each
//
// A request of one session never runs on another. Broken by: a create queued in
// the zk.Conn while disconnected; the session expires; the zk.Conn reconnects,
// opens a new session by itself and sends the create there, with a nil error. So
// there is one zk.Conn per session, our net.Conn (wire.go) reads the session id
// of each handshake before the zk.Conn does, and the fuse is blown before the
// zk.Conn can learn that its session is over.
//
// Trusted time is over before the ensemble may give our nodes away. Broken by:
// counting from an answer that no majority stands behind, from the arrival of
// an answer rather than the start of its request, or from what a zk.Conn calls
// connected. trust.go is the arithmetic; wire.go and handshake.go feed it.
//
// Loss is final. Broken by: a process stopped past its trusted time wakes up, an
// answer is read before the monitor has run and trust begins again, although
// State, read in between, has said Lost. So answers ask overdue first.
//
// Holders are told before a successor can exist. Broken by: the closeSession
// frame leaves, the server frees our node, another client is granted the lock,
// and only then our holder's goroutine is scheduled and ends its context. So end
// runs every claim's callback and ends the context, and the monitor, who alone
// says goodbye, waits for that. Not for being woken: its timer can wake it in the
// middle of end.
//
// A closeSession frame goes out whole and last. Broken by: writing it into the
// middle of the zk.Conn's frame, or a zk.Conn that writes after it. One writer at
// a time, by a token rather than a mutex, and after the fuse has blown the
// zk.Conn's bytes go nowhere.
//
// A node that must go is deleted, or its session ends. Broken by: giving up
// after an error, or on the context of a caller who has left. Debts (debt.go)
// know no caller.
//
// # Who runs what
//
//	Client.run       replaces sessions          ends at Close
//	Session.monitor  proofs, ends, goodbye      ends when the zk.Conn has wound down
//	Session.sweeper  retries debts              ends with the session
//	payers           pay debts, at most 32      end when there is nothing to pay
//	Start            one request each           end with their request
//
// Client.Close waits for all of them. The zk.Conn's goroutines call into
// conn.Read, conn.Write and event; these never block beyond the socket itself.
// No mutex is held across a channel operation, I/O or a callback.
package session
