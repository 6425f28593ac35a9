// Package sqlfence refuses the late writes of an owner that has lost its lock, in a
// SQL database. It protects what is written through it and nothing else: a script
// that writes the same tables without it breaks what all others keep, unless
// the tables have the triggers of [Guard.Schema], and those are against mistakes,
// not against whoever may drop them. It protects nothing outside the
// transaction (a mail, a file, another database), no table that has no
// transactions (MyISAM), and no reader: a replica can be behind the floor. It forgets
// what the database forgets: an asynchronous standby that is promoted, a restored
// backup or synchronous_commit=off can take an acknowledged write and its floor with
// them. And it is no optimistic concurrency: it orders owners, while two commands of
// one owner that both build on what they have read need a version to expect beside
// the fence.
//
// # What is atomic
//
// One row in a table holds the Stamp of each resource. [Guard.Do] moves it by one
// upsert, then runs the command, in one transaction: both are committed, or neither
// is. The upsert is the judgement too; no SELECT comes before it that another
// transaction could slip behind. From it to the commit the row is locked, so the
// commands of one resource run one after the other, and those of different resources
// side by side (in SQLite there is one writer in any case).
//
//	BEGIN
//	upsert (resource, token, seq), if that is larger   one row: admitted; none: look why not
//	the command's statements
//	COMMIT                                             answered: applied
//
//	the command fails       ROLLBACK, then the floor is raised in a transaction of its
//	                        own, then Do returns
//	deadlock, serialization the whole of it again, with the same Stamp, a bounded
//	                        number of times
//	no answer to COMMIT     fencing.ErrUnknownOutcome; the same Stamp again, before any
//	                        later one, finds out which it was
//
// The Example of [Guard.Do] shows how a new owner writes: it raises the floor before it
// reads, and tries again with the same Stamp where the outcome is unknown.
//
// It costs one round trip more than the same transaction without a guard. The
// function of a command that is tried again runs again, so it must act through its
// transaction alone.
//
// A table whose rows carry their own token and seq needs no transaction: [Guard.Rows]
// has the condition for its statements, and looks why a statement has met no row.
//
// # Isolation
//
// The fence holds at every level of each database; why is written beside the
// statements. At READ COMMITTED, PostgreSQL's default, a refused command is told so at
// once. At REPEATABLE READ and SERIALIZABLE PostgreSQL fails instead whatever meets a
// row that has changed, and Do tries again. MySQL's REPEATABLE READ takes the
// function's snapshot at its first SELECT, behind the upsert. What the function reads
// of other resources is as isolated as the level says, and no more.
//
// # Names and numbers
//
// Resources and operation IDs are compared byte by byte in every database, whatever
// its collation. Tokens and Seqs are BIGINT, signed: a Seq above 9223372036854775807
// is an error, never another one.
//
// Drivers are recognised by their error types and codes, never by texts, in the
// packages postgres, mysql and sqlite; with another driver give what judges its
// errors to [PostgreSQL], [MySQL] or [SQLite].
package sqlfence
