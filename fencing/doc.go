// Package fencing refuses the late writes of an owner that has lost its lock.
// It does nothing for a resource that does not ask it: holding a lock makes no
// write safe, because a process can be stopped between looking at its lock and
// writing, for any length of time, and writes on when it wakes up. It does not
// stop two owners from believing in their ownership at the same time, cannot
// take back a write that was admitted before a newer owner was heard of, and
// does not know who is speaking: a token proves order, not identity.
//
// What it does keep, at each resource that judges and writes in one atomic
// step: no write is accepted from an owner older than the newest one it has
// accepted a write from, nor from one older than the newest it was told of.
//
// The package needs the standard library alone, so a resource can enforce
// tokens without knowing that ZooKeeper exists.
//
// # Who does what
//
// The lock grants a [Token]; a later owner's is larger. The owner numbers its
// commands with a [Sequencer] (a Hold's and a Term's Next is one) and sends
// each with its [Stamp], the Token and the number. The resource remembers one
// Stamp and asks [Check]. Only the resource is authoritative: an owner that
// was admitted was the owner as far as this resource can ever know, whatever
// its own clock says, and one that was refused must stop, whatever its context
// says.
//
//	owner                          resource
//	  Hold.Next() = 0x200000007:1    remembers 0x200000004:9
//	  PUT, 0x200000007:1  ------->   newer: remember 0x200000007:0, run,
//	                                 it succeeded: remember 0x200000007:1
//	  (stopped; another owner)       PUT 0x20000000b:1 from it: admitted
//	  (woken) PUT, 0x200000007:2 ->  older than remembered: refused, ErrStale
//
// # The rule
//
// At a resource that remembers a Stamp, the highest:
//
//   - An older Token is refused for ever ([ErrStale]).
//   - A newer Token is remembered on sight, before its command is judged and
//     although the command may fail. Otherwise a new owner's first command
//     fails and, right after it, a late command of the old owner is let in.
//   - With the same Token, a larger Seq may run, gaps do no harm, and it
//     counts only once its command has succeeded, so that a failed one can be
//     repeated.
//   - The same Token and Seq have been applied ([ErrDuplicate]): for the
//     sender of a retry that is as good as success.
//   - The same Token with a smaller Seq is refused ([ErrSuperseded]): a later
//     command was applied, and nothing here knows whether this one was, before
//     it. That is never success.
//   - The zero Token and Seq 0 are refused ([ErrZeroToken], [ErrZeroSeq]). Seq
//     0 is what a memory holds while an owner was seen and nothing of it
//     applied.
//
// Tokens are ordered and never tested for equality to grant anything: a guard
// that asks "is this the current owner's token?" admits an old owner as soon
// as its notion of current is old too.
//
// What the owner's side must do for it:
//
//   - A retry carries the Stamp of its first try. A fresh one would be a
//     second command, and both could be applied. And it is sent only while no
//     later Stamp of this owner has gone to that resource, or it comes back as
//     superseded. One command at a time per resource meets both by itself.
//   - A new owner raises the floor ([Gate.Raise], or a command of its own)
//     before it reads what it will base its writes on. Else it reads, the old
//     owner's write lands, and the new owner overwrites it with what it
//     computed from before.
//   - Each resource is written under one lock path. Tokens of two paths have
//     no order, although they compare; a guard that serves many resources
//     remembers one Stamp for each resource name.
//
// What the resource's side must do for it:
//
//   - Judge, write and remember are one step: under one lock, in one
//     transaction, in one statement. What is remembered is as durable as what
//     is written, and no write is acknowledged before it is.
//   - Authenticate first. Whoever can present Tokens can present
//     0x7fffffffffffffff, and everybody else is locked out from then on.
//
// # Writing a guard
//
// A guard keeps one Stamp for each resource name, where the resource keeps its
// data, and does for one command, in one transaction or under one lock that
// covers all of it:
//
//  1. [ValidateResource], and read the Stamp remembered, with the lock that
//     keeps everybody else from reading it (SELECT … FOR UPDATE, a Lua script,
//     flock, a compare-and-set at the end).
//  2. [Check]. Refused: remember floor if it has risen, and return the error
//     by way of [Named], so that it carries the resource and both Stamps.
//  3. Run the command. It failed: undo it, remember floor durably, and only
//     then return its error. It succeeded: remember the Stamp with it.
//  4. Answer when both are durable. Whoever cannot tell whether they are
//     returns an error matching [ErrUnknownOutcome], and neither success nor
//     failure.
//
// Where a context has ended, answer with [Ended] and not with its cause, and ask
// whether it has before looking at what an error is like: the cause can be what
// another resource, or the same store, has said of another command.
//
// Raise is the same with [CheckRaise] and no command; it returns once nothing
// older can be applied any more, commands under way among it. An operation ID
// ([ValidateOpID]), where a guard takes one, is recorded per resource in the same
// step as the command, together with its outcome. A command whose ID is recorded
// does not run and gets that outcome, whichever Token it carries, an old one
// too; it raises the floor all the same if it is newer, and a zero Token, or a Seq
// of 0, is refused before. Override puts another Stamp in place of the remembered one
// and keeps an [Override] in the same step. It must not run beside a command.
//
// Package fencetest has the conformance suite for all of it.
//
// # A rebuilt ensemble
//
// Tokens are zxids, and an ensemble that was wiped, or restored from an old
// snapshot, counts them again from a smaller number. Every rightful owner is
// then refused as "older than remembered". That is safe, and it lasts until an
// operator acts. There are two ways out, both with all owners stopped:
//
//   - Raise the new ensemble above the old one. A zxid's upper 32 bits are the
//     epoch, and every election begins a larger one. With all servers stopped,
//     write a number above the upper half of the largest Token remembered
//     anywhere (0x2 for 0x200000007) into the files version-2/acceptedEpoch
//     and version-2/currentEpoch of each server's dataDir, in decimal, and
//     start them: Tokens are larger again, and no resource needs to be touched.
//     A standalone server has no epochs until it is run as an ensemble of one
//     (standaloneEnabled=false).
//
//     The largest Token is the largest of what every guard on the lock's path
//     remembers for each of its resources (the guards' Last, or their tables,
//     keys and files) and of what refused owners' errors name as remembered; if
//     in doubt, take a larger number. The files must stay those of the user
//     that the servers run as, who write them anew at each election. Before any
//     owner starts, create a node and look at its cZxid (create and stat of
//     zkCli.sh): it must be above the largest Token.
//
//   - Reset the memory of each resource by hand, to the zero Stamp or to a
//     Token of the new ensemble, as an override that is written down: who,
//     when, from which Stamp to which. From then on nothing protects against
//     what an owner of the old ensemble still has under way, and one such
//     command locks all new owners out once more; that is why they are stopped
//     first.
//
// # Wire formats
//
// The texts are fixed, each value has one spelling, and parsers accept no
// other:
//
//	Token  "0x200000007"     0x and lower-case hex, no leading zeros, at most 0x7fffffffffffffff
//	Stamp  "0x200000007:3"   the Token, a colon, Seq in decimal without leading zeros
//	JSON   the same, as strings; numbers and null are errors
//	SQL    the Token as a BIGINT; NULL and 0 scan as the zero Token, which is never stored
//
// The zero Token ("0x0") and Seq 0 have texts like any other, since a memory
// with nothing in it must be storable and readable in a log. That they may not
// act is decided in one place, Check.
package fencing
