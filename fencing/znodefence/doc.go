// Package znodefence guards data that lives in ZooKeeper itself: an owner's writes
// are one transaction (a multi) with the check of its Stamp, and of its lock's znode.
//
// It guards nothing from a client that writes without it: give the znodes an ACL
// that lets nobody else in. It makes no transaction with anything outside of
// ZooKeeper, none with more than what one multi can hold, and no write fast: each is a
// commit of the ensemble.
//
// One multi is at most 0xfffff bytes, with all paths, data and ACLs of the command, some
// 20 bytes for each operation, and the memory. That is jute.maxbuffer as servers have it
// by default; a client cannot ask for it. A larger command is answered with ErrTooLarge,
// for servers close the connection of whoever sends one, which the owner's lock lives
// by; where jute.maxbuffer was made smaller, commands must be kept below it by the caller.
//
// # Why the lock's znode is not enough
//
// A multi that begins with a check of the owner's own lock node is refused once the
// node is gone, however late it arrives. That alone lets nobody write after somebody
// else has got the lock, as long as the data and the lock are in one ensemble. It
// does not remember: a write that is tried again runs again, and a command that was
// lost on the way cannot be told from one that was applied. So beside the data stands
// a memory, one znode for each resource, with the last Stamp, and each multi moves it
// under the condition that nobody has since it was read. That is the whole rule of
// package fencing, and the lock's node a second lock on the same door: it refuses an
// owner that has lost and has no successor yet.
//
//	multi:  check    the lock's node        gone: the owner has lost
//	        setData  the memory, version n  moved: read it again, judge again
//	        …        the command's writes
//
// # A lost answer
//
// The same multi cannot be applied twice, for the memory moves with it. So Do sends
// it again, on a new session too, until an answer says what became of it: the memory
// has this Stamp, and it was applied; or it stands where it stood, and nothing was.
// Only if ctx ends before, or a later Stamp stands there by then, is the outcome
// unknown.
//
// # Versions
//
// A znode's version is a condition as well. Set, Delete and Check take the *zk.Stat
// that was read, and refuse none, an empty one and one with version -1: to a server
// -1 means any version, and it is what a Stat holds that nobody has filled in. The
// Stamp refuses the wrong owner, the version the right owner's wrong idea of what it
// overwrites; neither replaces the other.
//
// The example of [Guard.Do] shows what a new owner does: raise, read, write, and try again
// with the same Stamp where the outcome is unknown.
package znodefence
