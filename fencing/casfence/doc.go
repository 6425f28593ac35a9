// Package casfence puts a fence around data in any store that can write on a
// condition: an object store with If-Match, etcd, Consul, DynamoDB. It does nothing
// against a program that writes the pointer, or removes objects, without the guard,
// and it is worth no more than the store's own promise: a compare-and-set that two
// writers can win, or a fail-over that forgets one, breaks it.
//
// What it does keep: content and Stamp change in one step, a compare-and-set of one
// small record.
//
//	objects/NAME/0x7:3-K4T9…   content, written once under a name of its own
//	pointers/NAME              { last: 0x7:3, object: …/0x7:3-K4T9…, writes: […] }
//
// A command reads the pointer and asks fencing.Check, writes its content as a new
// object, which changes nothing yet, and then moves the pointer from the version that
// it has read. If the pointer has moved meanwhile the guard judges anew. A stopped
// writer keeps nobody out: when it goes on, its version is gone.
//
// # A lost answer
//
// When the answer to a compare-and-set is lost, the guard looks. Every write of a
// pointer has an ID, and the record keeps those of its last 64 writes:
//
//   - The ID is there: it was applied, perhaps with others after it.
//   - The version is still the one before: the request may be under way, so it is
//     sent again as it is. At most one of the two finds that version.
//   - The version has changed, the write before is among the IDs and this one is
//     not: it was not applied and never can be.
//
// Where even that cannot be told, because the store does not answer or 64 others
// came meanwhile, the error matches fencing.ErrUnknownOutcome.
//
// IDs make every value of a pointer unlike all before it, so a version may be a hash
// of the value (an ETag is one) and never comes back.
//
// Objects that no pointer names (of refused and broken-off commands, and of those
// that were replaced) stay until [Guard.Sweep] removes them, which it does beside
// writers without a danger for what they are about to publish. It needs a store that
// can list and delete (Memory and Files can). Any other remover, such as a bucket's
// lifecycle rule, knows neither: by age alone it removes what the pointer names, if
// that has not been replaced for long, and Get then fails; and it must never touch
// "pointers/", with which the floor would go.
//
// The example of [Guard.Publish] shows what a new owner does: raise, read, write, and try again
// with the same Stamp where the outcome is unknown.
package casfence
