package casfence

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync/atomic"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// Files is a Store in a folder of a local file system, shared by the processes of
// one machine. A process may be killed at any point of a Put; a power loss soon after
// can take back what it had not answered yet, also if others have seen it. For files
// that others open by their names there is package filefence, which has no such gap.
//
// When the folder cannot be synced, its disk fails, and a Files that has seen that
// answers nothing but errors from then on. Another Files of the folder, in any process, may
// still show what was not made durable; that it can sync proves nothing, since a
// system reports the loss of a write once and then forgets it.
type Files struct {
	root   *os.Root
	broken atomic.Pointer[error] // why nothing that is there is believed any more

	// Those of the system but in tests, which let them fail.
	rename  func(from, to string) error
	syncDir func(dir *os.File) error
}

var errNotOpened = errors.New("casfence: Files was not made by OpenFiles")

// OpenFiles returns the store in the folder dir, which must exist. An error matching
// errors.ErrUnsupported on systems without flock.
func OpenFiles(dir string) (*Files, error) {
	if err := flock.Check(); err != nil {
		return nil, fmt.Errorf("casfence: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("casfence: %w", err)
	}
	return &Files{root: root, rename: root.Rename, syncDir: (*os.File).Sync}, nil
}

// Close gives up the folder.
func (f *Files) Close() error {
	if f == nil || f.root == nil {
		return errNotOpened
	}
	return f.root.Close()
}

// usable is an error for good.
func (f *Files) usable() error {
	if f == nil || f.root == nil {
		return errNotOpened
	}
	if broken := f.broken.Load(); broken != nil {
		return *broken
	}
	return nil
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Get implements Store. The version is a hash: a value that was renamed into place is
// whole.
func (f *Files) Get(ctx context.Context, key string) (value []byte, version string, err error) {
	if err := f.usable(); err != nil {
		return nil, "", err
	}
	if ctx.Err() != nil {
		return nil, "", fencing.Ended(ctx)
	}
	file, err := f.root.ReadFile(digest([]byte(key)))
	if broken := f.usable(); broken != nil { // since: the value may be the one that was not synced
		return nil, "", broken
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	// The key stands before the value: for whoever looks into the folder.
	_, value, ok := bytes.Cut(file, []byte{0})
	if !ok {
		return nil, "", fmt.Errorf("casfence: the file of %q is damaged", key)
	}
	return value, digest(value), nil
}

// Put implements Store. The rename is what writes: an error before it matches
// ErrNotWritten, for nobody else finishes what this Put has begun. One of the rename
// or after it does not, since the value may be there, or come back after a power loss.
func (f *Files) Put(ctx context.Context, key string, value []byte, version string) (newVersion string, err error) {
	if err := f.usable(); err != nil {
		return "", err
	}
	lock, err := f.root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return "", notWritten(err)
	}
	defer func() { _ = lock.Close() }()
	if err := flock.Wait(ctx, lock); err != nil {
		return "", notWritten(err)
	}
	if err := f.usable(); err != nil { // who had the lock before could not sync
		return "", err
	}
	_, found, err := f.Get(ctx, key)
	if err != nil {
		return "", notWritten(err)
	}
	if found != version {
		return "", ErrConflict
	}
	// One name for all: who has the lock is alone, and what the dead left is
	// written over.
	if err := f.write("new", append(append([]byte(key), 0), value...)); err != nil {
		return "", notWritten(fmt.Errorf("%w; nothing was changed: when %s has room and can be written, try again", err, f.root.Name()))
	}
	// Before the rename: without a descriptor for it nothing has failed yet.
	dir, err := f.root.Open(".")
	if err != nil {
		return "", notWritten(err)
	}
	defer func() { _ = dir.Close() }()
	renamed := f.rename("new", digest([]byte(key)))
	// After an error too: if the value is there for all that, a guard that looks finds it.
	if err := f.sync(dir); err != nil {
		return "", errors.Join(renamed, err)
	}
	if renamed != nil {
		return "", renamed
	}
	return digest(value), nil
}

func notWritten(err error) error { return fmt.Errorf("%w: %w", ErrNotWritten, err) }

func (f *Files) write(name string, content []byte) error {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		// On a full disk the half takes up the room of whatever comes next.
		err = errors.Join(err, f.root.Remove(name))
	}
	return err
}

// sync makes the names in the folder durable. The invariant: what Get shows after a Put
// of this Files has ended is on disk. So a failure is for good:
//
//	A  Put: rename; the sync fails
//	A  the guard looks for what has become of it; Get reads the new pointer, from the
//	   kernel's cache, and the write's ID is in it: "Raise has succeeded"
//	   power cut: the pointer is the one before, and the older owner is let in
//
// It matches neither ErrNotWritten nor ErrConflict, for the value may be there.
func (f *Files) sync(dir *os.File) error {
	err := f.syncDir(dir)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("casfence: the folder %s could not be synced, and what was written there may be lost: check the disk and mount it again, then open the folder again in a new process: %w", f.root.Name(), err)
	f.broken.CompareAndSwap(nil, &err)
	return err
}
