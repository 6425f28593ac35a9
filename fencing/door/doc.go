// Package door is one guarded way in to a resource that cannot check Stamps
// itself: a service behind a gateway, a device, a program of somebody else's. A
// Door judges each command, runs it, and remembers, in a file of its own, what it
// has let through.
//
// It does not make command and memory one transaction, for the resource takes no
// part in any. What it has instead: one command at a time for each resource, its
// Stamp in the file before it runs and its outcome there before it is answered.
// What neither the file nor the resource can tell, that is whether a command took
// effect when its answer was lost, the Door does not guess: the outcome is unknown
// and it says so. It protects nothing from a write that comes by another way, nor
// from a second Door on the same resource with a file of its own.
//
// # One command
//
//	refused            *fencing.StaleError; nothing ran. With the last command's
//	                   Stamp (ErrDuplicate) its recorded outcome comes along.
//	operation known    the recorded outcome and no error, under any Token
//	it failed          its error. The Token's floor is in the file, the Seq does not
//	                   count, the same Stamp runs again.
//	it succeeded       its outcome, which is in the file by then
//	its answer is lost an error matching fencing.ErrUnknownOutcome
//
// # A lost answer
//
// A command whose answer was lost, by its own word (an error that matches
// fencing.ErrUnknownOutcome), by a panic or by a crash of this process, may still be
// on its way to the resource. Whatever were let through now could be overtaken by
// it. So for Options.Settle everything but a refusal gets an *UnsettledError, after
// a restart too. From then on
//
//   - the same Stamp runs again if the command is Repeatable, that is, if to carry
//     it out twice is the same as once. Else its outcome stays unknown;
//   - a later Stamp runs, of this owner or the next. Who sends one has read the
//     resource, and knows. The lost one, and what is older, does not run from then on,
//     Repeatable or not: it is superseded if the later one succeeds, else its outcome
//     stays unknown;
//   - its operation ID, if it had one, answers as its Stamp, under any Token: again if
//     Repeatable and as long as no other command has been let through after it, else
//     with fencing.ErrUnknownOutcome.
//
// Settle is the one number that the Door has to be told: for how long the resource
// can still carry out what it was sent, counted from when nobody waits for it any
// more. If it can take longer, an old command can land after a new one's.
//
// # The file
//
// A line for each change, with a checksum, appended and synced before anything is
// answered; when it has grown, what it says is written to a new file that takes its
// place. A line that a crash has cut short was never acknowledged and is dropped; one
// that is damaged, at the end, cannot be told from it. A damaged line with good ones
// after it makes Open fail: to forget would be to let an old owner in.
//
// One process has it open at a time, by a lock that ends with the process; where the
// system has no flock, Open fails. The file path + ".lock" is never left over from a crash,
// however it looks: never remove it, nor give the file a second name by a hard link. A
// Door whose lock or file was removed lets nothing through any more. A file that is not
// there when Open is called is begun anew, with nothing remembered.
package door
