// Package fencetest is the conformance suite for guards: whatever claims to keep
// the rule of package fencing at a resource runs it in a test of its own.
//
//	func TestGuard(t *testing.T) {
//		fencetest.Run(t, fencetest.Subject{
//			New:    func(t fencetest.TB) fencetest.Store { return newStore(t) },
//			OpIDs:  true,
//		})
//	}
//
// It judges from outside and proves no guard correct: it knows the schedules it
// plays and no others, kills no process and cuts no connection. What a crash does
// is for the guard's own tests; [Judge] reads the histories that those record.
//
// # What to write
//
// A [Store] is where the guard keeps memory and data, a [Guard] is one instance
// of it, as one process has one. They are thin: Guard.Do has the guard under test
// run a command that appends Command.Entry to a list of entries kept under the
// resource, and Guard.Read gives the list back. The list must be the guarded data
// itself, written by the command: a table's rows, lines of a file, children of a
// znode. Where the data can only be written whole, the command reads the list,
// appends and writes it, all of it inside the guard.
//
// A command that is made to fail (Command.Fail) does so after its append, if the
// guard can undo that, and else instead of it. A command whose body is Go code
// calls [Pause] before it appends and again after: there the suite stops it to let
// another one in, if the guard lets it.
//
// A guard may answer a command that it did not refuse with an error of its own
// (a deadlock, an unknown outcome). The suite sends it again with the same Stamp, a
// bounded number of times.
//
// # What is judged
//
// The names of the subtests are the claims. The random parts are repeatable up to
// scheduling by [Subject].Seed.
package fencetest
