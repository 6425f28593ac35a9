package casfence

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// List implements SweepStore. It opens every file of the folder, for its key.
func (f *Files) List(ctx context.Context, prefix string) ([]Listed, error) {
	if err := f.usable(); err != nil {
		return nil, err
	}
	dir, err := f.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	var all []Listed
	for {
		if ctx.Err() != nil {
			return nil, fencing.Ended(ctx)
		}
		names, err := dir.Readdirnames(100)
		for _, name := range names {
			if len(name) != len(digest(nil)) {
				continue // "lock", "new"
			}
			one, err := f.listed(name)
			if errors.Is(err, fs.ErrNotExist) {
				continue // another sweep's
			}
			if err != nil {
				return nil, err
			}
			if strings.HasPrefix(one.Key, prefix) {
				all = append(all, one)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (f *Files) listed(name string) (Listed, error) {
	file, err := f.root.Open(name)
	if err != nil {
		return Listed{}, err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return Listed{}, err
	}
	key, err := bufio.NewReader(file).ReadString(0)
	if err != nil {
		return Listed{}, fmt.Errorf("casfence: the file %s is damaged: %w", file.Name(), err)
	}
	return Listed{strings.TrimSuffix(key, "\x00"), info.ModTime()}, nil
}

// Delete implements SweepStore. A power loss soon after can bring the key back.
func (f *Files) Delete(ctx context.Context, key string) error {
	if err := f.usable(); err != nil {
		return err
	}
	lock, err := f.root.OpenFile("lock", os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	if err := flock.Wait(ctx, lock); err != nil {
		return err
	}
	if err := f.usable(); err != nil { // who had the lock before could not sync
		return err
	}
	if err := f.root.Remove(digest([]byte(key))); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
