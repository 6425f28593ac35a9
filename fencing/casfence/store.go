package casfence

import (
	"context"
	"errors"
)

var (
	// ErrConflict is Put's answer when the key does not have the version: nothing
	// was written.
	ErrConflict = errors.New("casfence: the version has changed")

	// ErrNotWritten is Put's answer when nothing was written, nor will be, for
	// another reason: no permission, no such bucket.
	ErrNotWritten = errors.New("casfence: not written")
)

// Store is what a guard needs of a store. Both methods are called concurrently.
type Store interface {
	// Get returns the value of key and its version; a version of "" and no error if
	// there is none. It must see every write that had been answered when it began
	// (ConsistentRead in DynamoDB, ?consistent in Consul): a new owner would miss what
	// the old one wrote.
	Get(ctx context.Context, key string) (value []byte, version string, err error)

	// Put writes value if the version of key is still version, "" for a key that
	// must not exist, in one atomic and durable step, and returns the new version. The error
	// matches ErrConflict or ErrNotWritten if it did not write and never will; after
	// any other error the guard takes it that it may have, or may yet. A version is never "" and
	// stands for one value; it may come back with the same value.
	Put(ctx context.Context, key string, value []byte, version string) (newVersion string, err error)
}
