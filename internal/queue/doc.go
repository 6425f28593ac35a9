// Package queue is the znode protocol of one contender: its node, its place
// among the others, its waiting and its leaving. It decides nothing about
// trust; zklock does, on what is proven here.
//
// Being first is never permission to act. It is news about an ensemble that
// may have moved on; the protected resource refuses a late owner by its token.
//
// # Names
//
// Ours is <dir>/_c_<uuid v4>-lock-<sequence>, ephemeral and sequential: the name
// that Apache Curator's mutex, go-zookeeper's Lock and kazoo (with the extra
// lock pattern "lock-") all read as a contender. Theirs are read the same way.
//
// # Invariants, and what breaks each
//
//  1. A node is ours only if its EphemeralOwner is this session. The GUID alone
//     is not enough: our create is lost on its way and a restarted process, or a
//     replayed request, has a node with the same GUID on another session. We
//     adopt it, and own a lock that another session's end takes away without a
//     word to us.
//  2. The token is the Czxid from the Stat of exactly our own node, of the very
//     answer that showed invariant 1. Take it from another read, and the
//     directory that was deleted and made again in between has a node of the
//     same name that is somebody else's: his number, our work.
//  3. The search for a lost create begins after the create's call has returned,
//     and is a quorum proof, then a list, one after the other. List first, and
//     the server that lags behind misses our committed node: we create a second
//     one and wait for the first for ever. Begin before the call has returned,
//     and the request is still in the client's queue: nothing is found, it is
//     sent, and nobody remembers it.
//  4. First means: our own node is in the list and no contender is earlier. A
//     list without our node is older than our node, or our node is gone; it can
//     miss the holder. A list with our node cannot: every earlier node was there
//     before ours was. And being first lasts as long as the node does, so the
//     proof that goes with it may be answered before or after the list.
//  5. Only a majority's word says that our node is gone. A read that misses it
//     may come from a server that lags; to leave on its word is to leave a live
//     node behind, which blocks everybody.
//  6. Only the nearest earlier contender is watched, by a read that leaves
//     nothing behind when the node is gone. Watching the first instead wakes all
//     at each release; a watch for existence waits for a birth that never comes.
//  7. After the predecessor's end we look again, proof and list: it may have
//     been a waiter that gave up, with the holder still in front of it.
//  8. Whenever sequence numbers cannot tell who came first (two alike, a
//     negative one, the last one there is) all contenders are ordered by Czxid,
//     by everybody. Order only some of them so, and two contenders can each
//     come out first.
//  9. What must go is deleted by its exact full name, or by GUID and session
//     together. By prefix, or by sequence number, a late delete removes a
//     stranger once the directory was made again and numbers restarted.
//  10. A debt is not on anybody's context: it ends with the delete's proof or
//     with the session. On the caller's context it would end with the very
//     timeout that made it.
//
// # What the proof names when no node of ours is known
//
// The search for a lost create proves with CheckVersion on the directory. It is
// there in every ordinary case and costs the quorum what the proof of a held
// node costs. NoNode and NoAuth are proof too: the refusal is itself a
// transaction that a majority committed (it consumes a zxid), and whoever
// answers it has applied all that went before. "/" would serve as well, but is
// the node that a locked-down ensemble is likeliest to guard. Any other error
// proves nothing, least of all SessionMoved: that is an old server's word.
//
// A settled create stays settled with one exception that no client can rule
// out: a server that read the request from a connection long closed and was slow
// to look at it. So a place whose create was ever in doubt leaves by name and
// then by GUID, and an earlier contender with our GUID and our session is a
// debt, never somebody to wait for.
package queue
