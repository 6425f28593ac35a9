// Package story has no code of its own. Its tests let worker processes hold one
// lock of a real ensemble and write to one resource, break something meanwhile,
// and have the history judged: what the resource has accepted and what the workers
// were told, not what the lock says about itself.
//
// A story that ends well proves its own interleaving and no other.
package story
