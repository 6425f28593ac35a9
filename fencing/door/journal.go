package door

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkfence/zkfence/fencing"
)

const header = "zkfence door 1\n"

// journal is the file. Its methods are not for concurrent use.
type journal struct {
	path       string
	file, lock *os.File
	size, base int64 // now, and as it was last written anew, or would have been at Open
	failed     error // nothing can be promised any more
}

var errDamaged = errors.New("a damaged line has good ones after it: restore the file from a copy of its disk, or take what is remembered from its readable lines and begin anew with Override")

// openJournal gives each entry in the file to apply.
func openJournal(path string, apply func(entry)) (*journal, error) {
	if err := plain(path); err != nil {
		return nil, fmt.Errorf("door: %s: %w", path, err)
	}
	lock, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("door: %s: %w", path, err)
	}
	j := &journal{path: path, lock: lock}
	if err := j.read(apply); err != nil {
		if j.file != nil {
			err = errors.Join(err, j.file.Close())
		}
		return nil, errors.Join(fmt.Errorf("door: %s: %w", path, err), lock.Close())
	}
	return j, nil
}

// plain wants a file, or nothing, at path itself. Of a symbolic link the lock would stand
// beside the link, so that the file could be opened once more by its own name; and when
// it is written anew the link would be replaced, and what it leads to stay as it was.
func plain(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() == fs.ModeSymlink:
		return errors.New("it is a symbolic link: give the path of the file that it leads to")
	case !info.Mode().IsRegular():
		return fmt.Errorf("it is no regular file but %s", info.Mode().Type())
	}
	return nil
}

// backwards is the proof that two doors have written to one file: what is remembered
// of a resource went down, and nobody has overridden it.
func backwards(e entry, before fencing.Stamp) error {
	if e.Override != nil || e.Last.Compare(before) >= 0 {
		return nil
	}
	return fmt.Errorf("resource %q goes back from %s to %s with no override: two doors have written to it; stop all owners, take the largest Stamp of each resource from its lines and begin anew with Override", e.Resource, before, e.Last)
}

func (j *journal) read(apply func(entry)) error {
	var err error
	if j.file, err = os.OpenFile(j.path, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return err
	}
	data, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	if len(data) < len(header) && bytes.HasPrefix([]byte(header), data) {
		// New, or a crash came before anything was promised.
		if _, err := j.file.WriteAt([]byte(header), 0); err != nil {
			return err
		}
		data = []byte(header)
	}
	if !bytes.HasPrefix(data, []byte(header)) {
		return fmt.Errorf("it begins with %.20q, want %q: it is no door's file, or a later version's", data, header)
	}
	good, err := replay(data[len(header):], apply)
	if err != nil {
		return err
	}
	j.size = int64(len(header) + good)
	// What a crash has cut short goes, or the next line would stand behind it.
	if err := j.file.Truncate(j.size); err != nil {
		return err
	}
	if err := j.file.Sync(); err != nil {
		return err
	}
	if _, err := j.file.Seek(j.size, io.SeekStart); err != nil {
		return err
	}
	return syncDir(filepath.Dir(j.path)) // its name too must be there after a crash
}

// replay returns how many bytes of data are whole lines.
func replay(data []byte, apply func(entry)) (good int, err error) {
	last := make(map[string]fencing.Stamp)
	for rest := data; len(rest) > 0; rest = data[good:] {
		line, _, whole := bytes.Cut(rest, []byte("\n"))
		e, ok := decode(line)
		if !whole || !ok {
			for _, later := range bytes.Split(rest, []byte("\n"))[1:] {
				if _, ok := decode(later); ok {
					return good, fmt.Errorf("at byte %d: %w", len(header)+good, errDamaged)
				}
			}
			return good, nil
		}
		if err := backwards(e, last[e.Resource]); err != nil {
			return good, fmt.Errorf("at byte %d: %w", len(header)+good, err)
		}
		last[e.Resource] = e.Last
		apply(e)
		good += len(line) + 1
	}
	return good, nil
}

// A line is the checksum of what follows in eight hex digits, a blank, JSON.
func encode(e entry) ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	return fmt.Appendf(nil, "%08x %s\n", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli)), text), nil
}

func decode(line []byte) (entry, bool) {
	sum, text, ok := bytes.Cut(line, []byte(" "))
	if !ok || string(sum) != fmt.Sprintf("%08x", crc32.Checksum(text, crc32.MakeTable(crc32.Castagnoli))) {
		return entry{}, false
	}
	var e entry
	if err := json.Unmarshal(text, &e); err != nil {
		return entry{}, false
	}
	return e, true
}

// append returns once the entry is durable. An error: it is not there, and either
// never will be or nothing is taken any more.
func (j *journal) append(e entry) error {
	if j.failed != nil {
		return j.failed
	}
	if err := j.stands(); err != nil {
		return j.fail(err)
	}
	line, err := encode(e)
	if err != nil {
		return err
	}
	if _, err := j.file.Write(line); err != nil {
		// Half a line must not stand before the next one.
		_, sought := j.file.Seek(j.size, io.SeekStart)
		if undone := errors.Join(j.file.Truncate(j.size), sought); undone != nil {
			return j.fail(errors.Join(err, undone))
		}
		return fmt.Errorf("door: %s: nothing was written: %w", j.path, err)
	}
	// After a failed fsync nobody knows what is on the disk, and the next one would
	// say that all is well.
	if err := j.file.Sync(); err != nil {
		return j.fail(err)
	}
	j.size += int64(len(line))
	return nil
}

// stands wants the lock and the file to be what their names lead to. Of a lock that
// somebody has removed ("a stale one") there is another by the next Open, and so another
// Door on the file; what is written to a file that is gone nobody will read:
//
//	A  has the door open; its lock is removed
//	B  opens it, and lets {9,1} through
//	A  lets {8,1} through, which has not heard of B's
//
// It is asked before each line. What is removed between that and the line is not seen.
func (j *journal) stands() error {
	for name, ours := range map[string]*os.File{j.path + ".lock": j.lock, j.path: j.file} {
		is, err := os.Lstat(name)
		if err != nil {
			return fmt.Errorf("it is open no more: %w", err)
		}
		was, err := ours.Stat()
		if err != nil {
			return err
		}
		if !os.SameFile(is, was) {
			return fmt.Errorf("%s is another file than the one that was opened: it was removed or replaced, and another Door may have it open", name)
		}
	}
	return nil
}

func (j *journal) fail(err error) error {
	j.failed = fmt.Errorf("door: %s: the file cannot be written, and nothing is let through until it is opened again: %w", j.path, err)
	return j.failed
}

func (j *journal) grown() bool { return j.failed == nil && j.size > max(1<<20, 2*j.base) }

// rewrite puts a file with these entries alone in place of what there is. If it
// cannot, the old one goes on, and it is tried again when that has grown further.
func (j *journal) rewrite(entries []entry) {
	if j.replace(entries) != nil && j.failed == nil {
		j.base = j.size
	}
}

// compact is a file with these entries alone.
func compact(entries []entry) ([]byte, error) {
	text := []byte(header)
	for _, e := range entries {
		line, err := encode(e)
		if err != nil {
			return nil, err
		}
		text = append(text, line...)
	}
	return text, nil
}

func (j *journal) replace(entries []entry) (err error) {
	text, err := compact(entries)
	if err != nil {
		return err
	}
	fresh, err := os.OpenFile(j.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if fresh != j.file {
			err = errors.Join(err, fresh.Close())
		}
	}()
	if _, err := fresh.Write(text); err != nil {
		return err
	}
	if err := fresh.Sync(); err != nil {
		return err
	}
	if err := os.Rename(j.path+".new", j.path); err != nil {
		return err
	}
	// From here on a crash may find the one or the other: both say the same, but
	// only as long as nothing is added to either.
	if err := syncDir(filepath.Dir(j.path)); err != nil {
		return j.fail(err)
	}
	old := j.file
	j.file, j.size, j.base = fresh, int64(len(text)), int64(len(text))
	return old.Close()
}

func (j *journal) close() error { return errors.Join(j.file.Close(), j.lock.Close()) }

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
