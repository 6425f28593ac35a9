// Package redisfence guards data in Redis: the rule of package fencing and the
// command are one Lua script, which Redis runs whole and with nothing in between.
//
// It cannot keep what Redis forgets. Redis acknowledges before its replicas have
// heard, and by default before anything is on a disk:
//
//   - After a failover the new primary may lack the last writes and Stamps that the
//     old one had acknowledged. A command that was answered is gone, and an older
//     owner's may be let in. WAIT makes that rarer, and is no promise either: a replica
//     that has not heard can still be promoted. Data that must not go backwards
//     belongs into a store that answers after a majority has it.
//   - After a crash appendfsync everysec, the default of an append-only file, lacks
//     about a second; with no append-only file it is all since the last snapshot. Only
//     appendonly yes with appendfsync always has every answer on its disk.
//   - A memory has no time to live, but a maxmemory-policy of allkeys-… evicts it all the
//     same, and with it its floor. Use noeviction, or a volatile-… policy.
//   - FLUSHALL, DEL of a memory, and a primary that comes back empty forget all of it.
//
// A go-redis Ring forgets too: the keys of a shard that is down are looked for on
// another, where they never were. [New] refuses one. Any other proxy or client that
// shards by which servers are up does the same.
//
// It guards nothing from a client that writes without it: only an ACL that lets
// nobody else write those keys does. And it gives no rollback, for Redis has none:
// what a script has written before its error stays (see [Command]).
//
// # Keys
//
// Everything about one resource stands under the hash tag {resource}, the memory
// (zkfence:{resource}) and the data, so that in a cluster it is all on one node and
// one script may touch it. [Key] makes such a name. A cluster refuses a command
// with keys of several tags; a single server does not.
//
// Tokens and Seqs are stored and compared as decimal digits of a fixed width: Lua's
// numbers are doubles, which hold 53 of a Token's 63 bits.
//
// # A lost answer
//
// go-redis sends a command again by itself when a connection breaks. For a guard
// that is right, the second try being a duplicate of the first, and it is what
// Run makes of it: applied, with the outcome of the first, which the memory has for the
// last Stamp. If the connection does not come back, or a later Stamp has
// by then, the error matches fencing.ErrUnknownOutcome. A repetition of your own is
// answered with fencing.ErrDuplicate and no outcome: for that use an operation ID.
//
// go-redis looks at a context's deadline during a command with ContextTimeoutEnabled
// alone, and at a cancellation never: what bounds the wait is ReadTimeout, for each of
// its own tries.
//
// The example of [Guard.Set] shows what a new owner does: raise, read, write, and try again
// with the same Stamp where the outcome is unknown.
package redisfence
