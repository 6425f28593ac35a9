// Package filefence publishes files under a fence: a folder in which each file is
// replaced as a whole, and never by an owner older than the newest that was seen.
// It does nothing against a program that writes into the folder without asking the
// guard, nor against one that removes the folder .zkfence in it, where the guard
// keeps what it remembers; it holds on one machine, on a local file system whose
// rename is atomic and whose flock is the kernel's, and no longer than the disk
// keeps what it has been made to write.
//
// What it does keep: [Guard.Publish] replaces the file and remembers the Stamp in
// one step, also if the process is killed at any point of it, the disk is full or
// the machine loses power. Whoever opens the file by its name sees the old content
// or the new, never a part.
//
// # Why content and Stamp do not diverge
//
// They are two files, and no call of the system replaces two at once. So the
// memory is the one that decides, and the content follows:
//
//	.zkfence/report.csv/lock       flocked by whoever judges; never removed
//	.zkfence/report.csv/memory     the Stamp, and the name of the body that goes with it
//	.zkfence/report.csv/new-7f3a…  a body: content that is not published yet
//	report.csv                     what readers open
//
//	 1  lock; finish what others left; judge; remember the floor if it rose;
//	    create the body and flock it                                      unlock
//	 2  the caller's function writes the body; fsync it
//	 3  lock; finish; judge again
//	 4  fsync the folder of the body, write memory.new with {Stamp, body}, fsync it
//	 5  rename memory.new to memory, fsync the folder:  THE COMMAND IS APPLIED
//	 6  rename the body to report.csv, fsync that folder                  unlock
//
// The invariant: if the body that the memory names exists, its content is what
// belongs to the Stamp and has yet to be renamed; if it does not exist, it has been.
// Whoever takes the lock syncs the folder of the memory, for who renamed it may have
// been killed before, and finishes step 6 before it judges or reads anything. A
// process killed before 5 has changed nothing; one killed after it has applied its
// command, and the next that comes publishes it, so that its retry is rightly a
// duplicate. The other order, content first, would show a file whose Stamp nobody
// remembers: the late owner's write that was let in before the crash could be let
// in again after it.
//
// The body is written with no lock held. A process that is stopped in the middle
// of a large file keeps nobody out, and is refused at step 3 when it goes on; one
// that is stopped between 3 and 6 keeps the resource locked until it goes on or is
// killed, at which the kernel drops the lock. A flock on the body tells bodies that
// are being written from those of the dead, which are removed by whoever comes next and
// may read them.
//
// A command does not fail without a word: an error that matches
// [fencing.ErrUnknownOutcome] means that it may be applied, any other that it was
// not.
//
// The example of [Guard.Publish] shows what a new owner does: raise, read, write, and try again
// with the same Stamp where the outcome is unknown.
package filefence
