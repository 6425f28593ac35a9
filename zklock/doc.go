// Package zklock is a mutual exclusion lock on ZooKeeper whose holder carries a
// fencing token.
//
// It does not make an unfenced write safe. A process can be stopped between any
// check it makes and the write that follows, for longer than its session lives;
// when it wakes up somebody else holds the lock, and nothing in this process can
// take back a write that is already on its way. Only the resource can refuse
// it: hand it [Hold.Next] with each command, and have it apply [fencing.Check]
// in one atomic step with the write. What a Hold promises is less, and useful: it
// says that it is over before another client can have been granted the lock, as
// long as this process runs, its clock keeps pace with the servers', and nobody
// removes the node or ends the session by hand.
//
// Who decides what: the ensemble decides who is first in line, by the order in
// which it committed the contenders' znodes; the session's trust arithmetic (see
// zkconn) decides on this process's own clock for how long that may be believed;
// the resource decides what is written.
//
// There is no method that answers whether the lock is held. It would be asked
// before a write and be out of date at the write. [Hold.Context] ends work that
// has become pointless, [Hold.Ready] keeps work from starting that has no time
// to finish, and [Hold.State] is for logs and status pages.
//
// # States
//
//	Idle      ─ begin ─▶ Acquiring
//	Acquiring ─ grant ─▶ Held        ─ give up ─▶ Releasing
//	Held      ─ suspect ▶ Suspect    ─ lose ─▶ Lost   ─ unlock ─▶ Releasing
//	Suspect   ─ heal ──▶ Held        ─ lose ─▶ Lost   ─ unlock ─▶ Releasing
//	Lost      ─ sweep ─▶ Releasing   ─ gone ─▶ Idle
//	Releasing ─ gone ──▶ Idle
//
// One machine per attempt, never used twice: what an old hold does late cannot
// touch a newer one. Acquiring covers every session that the wait lives through.
// Held is only entered when our own node was in a list and first in it, a
// majority has answered for that node, and trusted time is left. Suspect means
// that the ensemble is not known to be well: finish nothing that cannot be
// refused, start nothing. Lost is final; nothing reacquires silently.
//
// # Invariants, and the interleaving that would break each
//
// err is nil from Lock exactly if ownership was proven after the call began.
// Broken by: ctx ends, Lock returns its error, and the grant that was on its way
// is kept by nobody. So one goroutine decides, once, and what it has it gives
// back.
//
// A hold's context has ended before a successor can exist. Broken by: the
// session ends and is closed on the server, which frees our node; another client
// acquires; only then the goroutine that ends our context is scheduled. So the
// sources of loss end the context themselves, each on its own goroutine, and the
// session closes nothing before they have returned.
//
// The acquire context never ends the hold. Broken by: defer cancel() right
// after Lock. So a hold's context keeps the values of ctx and nothing else of it.
//
// A cancelled context never stops the clean-up. Broken by: the timeout that ends
// the wait also ends the delete, and the node blocks all behind it for as long
// as the session lives. So a node that must go is a debt of its session.
//
// The state a program reads is never better than the truth. Broken by: a process
// is stopped past its trusted time and asks before any goroutine of ours has
// run. So State, Remaining, Ready and Unlock look at the clock first, and what
// they find is final.
//
// Users' code delays nobody but itself. Broken by: a hook that blocks, or calls
// Client.Close, on the goroutine that must notice a loss. So hooks run on a
// goroutine of their own, in order, and nothing waits for them.
package zklock
