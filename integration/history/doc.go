// Package history judges what lock holders did by what they, and the resource that
// they wrote to, have recorded. It starts nothing and has no clock of its own.
//
// It judges only what was recorded: a history without a single hold breaks no
// rule, so a test also counts what it wanted to see.
//
// Times are of one clock that all processes share, CLOCK_MONOTONIC of one machine.
// An event that begins something carries the time before it was done, one that
// tells a fact the time after it was learned, so that scheduling can hide a
// violation as long as itself but never make one up. One fact can be learned long
// before it is told: a worker is stopped, by a Fault that Stops, just after a grant.
// Where it goes on too late to be trusted, that grant is put in no order with the
// newer ones since.
//
// # Rules
//
//   - Backwards: the resource has accepted a command older than one that it had
//     accepted, or the same twice.
//   - Unowned: the resource has accepted a command that nobody had sent to whom its
//     token was granted.
//   - Unkept: a write was answered with OK that the resource has not accepted.
//   - Overlap: a hold was granted while another's trust lasted. Trust is a promise
//     in time: at a Belief the holder was told that nobody else could be granted the
//     lock for as long as Remaining says; a hold without a Belief is trusted for no time. It ends early by an Unlock or a reported
//     loss, or when an operator frees the lock by hand (a Fault that Frees). A
//     process that is stopped makes no new promises; those that it had been given
//     hold while it is stopped, so it is not exempt from them.
//   - Causeless: a hold was lost while no Fault was there to be its cause, and none had
//     been healed within the grace time. Or a waiter's place in line was. Or a hold
//     that had been trusted was over, and neither unlocked nor lost. A Fault that is
//     never Healed explains every loss after it.
//   - Revived: a holder was told that it is trusted after it had lost or released, or
//     when it had had the grace time to learn that its node was deleted.
//   - Unfair: a contender was granted the lock before another that had stood in
//     front of it, with the same node, until it was granted in turn; by their tokens,
//     and by their nodes' numbers. Or before one that stood there for the grace time
//     more, with no Fault to end its session, and then gave up.
//   - Orphan: a node was there after the last contender had left.
//   - Endless: an attempt has neither been granted nor failed, a hold not ended, a
//     release not come to its end, though their worker lived.
//   - NotLinearizable: no order of the commands explains what the workers were told
//     by the resource.
package history
