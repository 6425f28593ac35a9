// Package election elects one leader among the candidates of a path, for terms
// that are long and issue many commands. It is zklock's lock under other names:
// one state machine, one proof, one line.
//
// It does not make an unfenced command safe. A leader can be stopped between any
// check it makes and the command that follows, for longer than its session lives;
// when it wakes up another one leads, and nothing in this process can take back
// what is already on its way. Only whoever receives the command can refuse it:
// send [Term.Next] with each, and have the receiver apply [fencing.Check] in one
// atomic step with the command. The Token says which term is newer, the number
// which command of a term; a receiver needs both, or a retry of an old command
// undoes a newer one of the same leader.
//
// What a Term promises is less, and useful: its Context ends before another
// candidate can lead, as long as this process runs, its clock keeps pace with the
// servers', and nobody removes the node or ends the session by hand.
//
// There is no method that answers whether this process leads. It would be asked
// before a command and be out of date at the command. [Election.Leader] and
// [Election.Observe] are news: about whom to ask, never about who may act.
//
// # A candidate's life
//
//	            ┌──────── jittered pause ◀── lost, and lead has returned ─┐
//	            ▼                                                         │
//	Run ──▶ campaigns ──▶ leads: lead(ctx, term) ─────────────────────────┤
//	            │                                                         │
//	            └─▶ error, or ctx ended ──▶ Run returns ◀── lead returned ┘
//
// Run is in one of these places or has returned. The one state in which a process
// neither leads nor stands for election is a lead that goes on after its term,
// lost or resigned, and [Election.Handler] tells of that.
//
// # What it costs
//
// A campaign costs what the lock does: create, list, read; a standby asks for
// nothing while it waits. When a leader resigns, the next one leads after two round
// trips: the delete and the word of it, then proof and list at once. A term costs a
// proof per eighth of the session timeout, shared with every other hold of the
// Client. To observe costs two reads per change and Client, however many observe,
// and nothing between.
//
// # Invariants, and the interleaving that would break each
//
// No lead runs beside another of the same Election, and none outside its term's
// round. Broken by: the term is lost, lead takes its time, the next campaign is
// won, and two leads act in one process, the elder with a Token that its own
// process has outdated. So the next campaign begins when lead has returned.
//
// A term has one end, and everybody is told the same one. Broken by: ctx ends
// while lead returns, and Run says that lead ended by itself. So what counts is
// what was true when lead returned.
//
// What the last SetInfo wrote stands in the end. Broken by: the request of a call
// whose context has ended overtakes the next one's. So the next waits for it.
//
// An observer's last word is the newest. Broken by: two readers of one path, the
// slower of which publishes what it read first. So one goroutine follows a path
// for all observers of a Client, and they read what it has published last.
package election
