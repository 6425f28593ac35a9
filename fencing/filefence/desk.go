package filefence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/flock"
)

// memory is what the guard remembers of one file.
type memory struct {
	Format    int                `json:"format"`
	Resource  string             `json:"resource"` // a file system that ignores case must not make one of two
	Last      fencing.Stamp      `json:"last"`
	Body      string             `json:"body,omitempty"` // what Last published; renamed already if there is no such file
	Overrides []fencing.Override `json:"overrides,omitempty"`
}

// format is of the memory's file. Another one is refused: what it leaves out must
// not be taken for nothing.
const format = 1

// desk is the lock on one file, with its memory.
type desk struct {
	g      *Guard
	name   string
	folder string
	lock   *os.File
	fresh  bool // nothing is remembered yet
	memory memory
}

// enter takes the lock of a name that can be a file of this folder's, reads the
// memory, makes it durable, and finishes what a killed process left.
func (g *Guard) enter(ctx context.Context, name string) (*desk, error) {
	if g == nil || g.root == nil {
		return nil, errNotMade
	}
	if err := validate(name); err != nil {
		return nil, err
	}
	d := &desk{g: g, name: name, folder: home + "/" + name}
	if err := d.take(ctx); err != nil {
		return nil, fmt.Errorf("filefence: lock %q: %w", name, err)
	}
	if err := d.load(); err != nil {
		d.leave()
		return nil, err
	}
	if err := d.settle(); err != nil {
		d.leave()
		return nil, err
	}
	if err := d.finish(); err != nil {
		d.leave()
		return nil, err
	}
	return d, nil
}

// settle makes the memory durable that was read. The invariant: what is public or
// answered by a memory comes after that memory is on disk. Without it:
//
//	A  rename memory.new to memory, killed before it syncs the folder
//	B  reads that memory from the cache, renames the body to its name, syncs ".",
//	   and answers "a duplicate", or that the floor stands
//	   power cut: the memory is the one before, the content is the new one
//	   a late owner, or the retry, is let in
//
// It is done each time: that this Guard has synced a memory with the same words does
// not say that it is the same, for one that is taken back has them too. In a folder in
// which nothing has changed it is short.
func (d *desk) settle() error {
	if d.fresh {
		return nil
	}
	if err := d.g.sync(d.folder); err != nil {
		return fmt.Errorf("filefence: the memory of %q is not known to be on disk, nothing is let in until it is: sync %s: %w", d.name, d.folder, err)
	}
	return nil
}

func (d *desk) take(ctx context.Context) error {
	if ctx.Err() != nil {
		return fencing.Ended(ctx)
	}
	f, err := d.g.root.OpenFile(d.folder+"/lock", os.O_RDWR|os.O_CREATE, 0o666)
	if errors.Is(err, fs.ErrNotExist) {
		if err = d.g.root.MkdirAll(d.folder, 0o777); err == nil {
			f, err = d.g.root.OpenFile(d.folder+"/lock", os.O_RDWR|os.O_CREATE, 0o666)
		}
	}
	if err != nil {
		return err
	}
	if err := flock.Wait(ctx, f); err != nil {
		return errors.Join(err, f.Close())
	}
	d.lock = f
	return nil
}

// leave gives the lock up; the kernel does when the file is closed.
func (d *desk) leave() { _ = d.lock.Close() }

func (d *desk) load() error {
	text, err := d.g.root.ReadFile(d.folder + "/memory")
	if errors.Is(err, fs.ErrNotExist) {
		d.fresh, d.memory = true, memory{Format: format, Resource: d.name}
		return nil
	}
	if err == nil {
		if err = json.Unmarshal(text, &d.memory); err == nil && d.memory.Format != format {
			err = fmt.Errorf("its format is %d, want %d", d.memory.Format, format)
		}
	}
	if err != nil {
		// To begin anew would let the oldest owner in.
		return fmt.Errorf("filefence: the memory of %q cannot be read, nothing is let in until it can: %s/memory: %w", d.name, d.folder, err)
	}
	if d.memory.Resource != d.name {
		return fmt.Errorf("%w: %q: this file system takes it for %q", fencing.ErrBadResource, d.name, d.memory.Resource)
	}
	return nil
}

// judge asks Check and remembers the floor.
func (d *desk) judge(s fencing.Stamp) error {
	floor, refusal := fencing.Check(d.memory.Last, s)
	if err := d.remember(floor); err != nil {
		return err
	}
	return fencing.Named(d.name, refusal)
}

func (d *desk) remember(floor fencing.Stamp) error {
	if floor == d.memory.Last {
		return nil
	}
	d.memory.Last = floor
	if err := d.save(); err != nil {
		return fmt.Errorf("filefence: remember %s for %q: %w", floor, d.name, err)
	}
	return nil
}

// save is steps 4 and 5. An error that does not match ErrUnknownOutcome means that
// the memory on disk is the one before.
func (d *desk) save() error {
	text, err := json.Marshal(d.memory)
	if err != nil {
		return err
	}
	fresh := d.folder + "/memory.new"
	if err := d.g.write(fresh, append(text, '\n')); err != nil {
		return errors.Join(err, ignoreNotExist(d.g.root.Remove(fresh)))
	}
	// Before the rename: a memory that is on disk must not name a body that is not.
	if err := d.g.sync(d.folder); err != nil {
		return err
	}
	if d.fresh { // nor must the folder be lost with everything in it
		if err := errors.Join(d.g.sync("."), d.g.sync(home)); err != nil {
			return err
		}
	}
	if err := errors.Join(d.g.rename(fresh, d.folder+"/memory"), d.g.sync(d.folder)); err != nil {
		return fmt.Errorf("%w: it may be on disk: %w", fencing.ErrUnknownOutcome, err)
	}
	d.fresh = false
	return nil
}

// finish is step 6, for whoever began it.
func (d *desk) finish() error {
	if d.memory.Body == "" {
		return nil
	}
	body := d.folder + "/" + d.memory.Body
	if _, err := d.g.root.Lstat(body); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return fmt.Errorf("filefence: publish %q: %w", d.name, err)
	}
	if err := d.g.rename(body, d.name); err != nil {
		return fmt.Errorf("filefence: publish %q: %w", d.name, err)
	}
	// That the body is gone from its folder need not be durable: a body that came back
	// would be renamed once more, or cleaned away.
	if err := d.g.sync("."); err != nil {
		return fmt.Errorf("%w: filefence: publish %q: it may not be on disk: %w", fencing.ErrUnknownOutcome, d.name, err)
	}
	return nil
}

// clean removes the bodies of writers that have died.
func (d *desk) clean() error {
	dir, err := d.g.root.Open(d.folder)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	for {
		names, err := dir.Readdirnames(100)
		for _, name := range names {
			if strings.HasPrefix(name, bodyPrefix) && name != d.memory.Body {
				if err := d.cleanOne(d.folder + "/" + name); err != nil {
					return err
				}
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// cleanOne opens the body only for its flock, and so only for reading: its mode may
// forbid writing, and it may be another user's. Where even reading is forbidden it is
// left to somebody who may. To fail instead would keep every owner out of the file, for
// ever if the body's writer is dead.
func (d *desk) cleanOne(path string) error {
	f, err := d.g.root.Open(path)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return ignoreNotExist(err)
	}
	defer func() { _ = f.Close() }() // and its flock with it
	dead, err := flock.Try(f)
	if err != nil || !dead {
		return err
	}
	return ignoreNotExist(d.g.root.Remove(path))
}

func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
