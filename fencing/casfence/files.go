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

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// Files is a Store in a folder of a local file system, shared by the processes of
// one machine. A process may be killed at any point of a Put; a power loss soon after
// can take back what it had not answered yet, also if others have seen it. For files
// that others open by their names there is package filefence, which has no such gap.
type Files struct{ root *os.Root }

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
	return &Files{root}, nil
}

// Close gives up the folder.
func (f *Files) Close() error { return f.root.Close() }

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// Get implements Store. The version is a hash: a value that was renamed into place is
// whole.
func (f *Files) Get(ctx context.Context, key string) (value []byte, version string, err error) {
	if ctx.Err() != nil {
		return nil, "", fencing.Ended(ctx)
	}
	file, err := f.root.ReadFile(digest([]byte(key)))
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
	lock, err := f.root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return "", notWritten(err)
	}
	defer func() { _ = lock.Close() }()
	if err := flock.Wait(ctx, lock); err != nil {
		return "", notWritten(err)
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
	if err := f.root.Rename("new", digest([]byte(key))); err != nil {
		return "", err
	}
	return digest(value), f.sync()
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

func (f *Files) sync() error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
