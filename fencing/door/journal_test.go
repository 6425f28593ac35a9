package door

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// story is a little of everything, and what is remembered after each step that was
// answered.
func story(t *testing.T, s *scene, answered func()) {
	t.Helper()
	step := func(_ any, err error) {
		require.NoError(t, err)
		answered()
	}
	step(s.do(Command{Stamp: at(t, 10, 1)}, nil))
	step(s.do(Command{Stamp: at(t, 10, 2), OpID: "pay-1"}, nil))
	step(nil, s.Raise(t.Context(), "r", at(t, 20, 0).Token))
	_, err := s.do(Command{Stamp: at(t, 30, 4)}, context.Canceled)
	require.ErrorIs(t, err, context.Canceled)
	answered()
	step(nil, s.Override(t.Context(), "r", at(t, 5, 5), "Ada", "rebuilt"))
	step(s.do(Command{Stamp: at(t, 6, 1), OpID: "pay-2"}, nil))
}

// memory is what a repetition would be told.
func memory(d *Door) string {
	r := d.rooms["r"]
	if r == nil {
		return "nothing"
	}
	return fmt.Sprint(r.last, string(r.answer), r.ops, r.order, len(r.overrides), r.pending, r.lost)
}

// The process, or the machine, stops at any byte of the file: what had been answered
// is remembered, and what is remembered is what was, or was about to be (case 25).
func TestACrashAtAnyByteForgetsNothingThatWasAnswered(t *testing.T) {
	s := newScene(t)
	type point struct {
		size   int64
		memory string
	}
	points := []point{{0, "nothing"}}
	story(t, s, func() {
		info, err := os.Stat(s.path)
		require.NoError(t, err)
		points = append(points, point{info.Size(), memory(s.Door)})
	})
	require.Len(t, points, 7)
	whole, err := os.ReadFile(s.path)
	require.NoError(t, err)

	lines := map[int64]string{0: "nothing"} // by where they end
	dir := t.TempDir()
	for size := range int64(len(whole)) + 1 {
		path := filepath.Join(dir, fmt.Sprint(size))
		require.NoError(t, os.WriteFile(path, whole[:size], 0o600))
		d, err := Open(path, Options{})
		require.NoError(t, err, "%d of %d bytes", size, len(whole))
		got := memory(d)
		if size > 0 && whole[size-1] == '\n' {
			lines[size] = got
		}
		for _, p := range points {
			if p.size == size {
				require.Equal(t, p.memory, got, "%d bytes", size)
			}
		}
		require.Equal(t, lines[int64(strings.LastIndexByte(string(whole[:size]), '\n')+1)], got, "%d bytes: half a line says nothing", size)
		if size%16 != 0 { // an fsync takes its time
			require.NoError(t, d.Close())
			continue
		}
		require.NoError(t, d.Raise(t.Context(), "r", at(t, 50, 0).Token))
		require.NoError(t, d.Close())
		d, err = Open(path, Options{})
		require.NoError(t, err, "%d bytes, and a line behind", size)
		require.Equal(t, at(t, 50, 0), d.Last("r"))
		require.NoError(t, d.Close())
	}
}

func TestADamagedFileIsNotOpened(t *testing.T) {
	s := newScene(t)
	story(t, s, func() {})
	whole, err := os.ReadFile(s.path)
	require.NoError(t, err)
	last := strings.LastIndexByte(string(whole[:len(whole)-1]), '\n')
	path := filepath.Join(t.TempDir(), "door")
	for i := range last {
		spoilt := append([]byte(nil), whole...)
		spoilt[i] ^= 1
		require.NoError(t, os.WriteFile(path, spoilt, 0o600))
		_, err := Open(path, Options{})
		require.Error(t, err, "byte %d of %d", i, len(whole))
		require.ErrorContains(t, err, path)
	}
}

func TestTheFileIsWrittenAnewWhenItHasGrown(t *testing.T) {
	s := newScene(t)
	story(t, s, func() {})
	_, err := s.do(Command{Stamp: at(t, 7, 1), OpID: "lost"}, errLost)
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	before := memory(s.Door)
	other := make([]byte, 60<<10)
	var most int64
	for i := range uint64(100) {
		binary.BigEndian.PutUint64(other, i)
		_, err := s.Do(t.Context(), Command{Resource: "other", Stamp: at(t, 1, i+1)}, func(context.Context) ([]byte, error) { return other, nil })
		require.NoError(t, err)
		info, err := os.Stat(s.path)
		require.NoError(t, err)
		most = max(most, info.Size())
	}
	require.Less(t, most, int64(2<<20), "8 MB have been written")
	require.Equal(t, before, memory(s.Door))
	s.reopen()
	require.Equal(t, before, memory(s.Door))
	require.Equal(t, other, s.rooms["other"].answer)
	require.NoFileExists(t, s.path+".new")
}

// A file counted as written anew when it was opened, with all that it had gathered: a
// process that is started again before that has doubled never wrote it anew, and the
// file of one Stamp grew with every life.
func TestShortLivesDoNotLetTheFileGrow(t *testing.T) {
	s := newScene(t)
	var most int64
	for life := range uint64(8) {
		for i := range uint64(10) {
			_, err := s.Do(t.Context(), Command{Resource: "r", Stamp: at(t, 1, life*10+i+1)}, func(context.Context) ([]byte, error) { return make([]byte, 60<<10), nil })
			require.NoError(t, err)
			info, err := os.Stat(s.path)
			require.NoError(t, err)
			most = max(most, info.Size())
		}
		before := memory(s.Door)
		s.reopen()
		require.Equal(t, before, memory(s.Door))
	}
	require.Less(t, most, int64(5<<18), "6.5 MB have been written, and 80 KB are remembered")
}

func TestOneDoorToAFile(t *testing.T) {
	s := newScene(t)
	_, err := Open(s.path, Options{})
	require.ErrorContains(t, err, "another Door")
	require.NoError(t, s.Door.Close())
	_, err = s.do(Command{Stamp: at(t, 1, 1)}, nil)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, s.Raise(t.Context(), "r", at(t, 1, 0).Token), ErrClosed)
	require.NoError(t, s.Door.Close())
	_, err = new(Door).Do(t.Context(), Command{Resource: "r", Stamp: at(t, 1, 1)}, func(context.Context) ([]byte, error) { return nil, nil })
	require.ErrorIs(t, err, ErrClosed)
	s.Door = nil
	s.reopen()
}

func TestBadOptionsAndFiles(t *testing.T) {
	for want, o := range map[string]Options{
		"Settle = -1s": {Settle: -1e9}, "MaxOutcome = -1": {MaxOutcome: -1}, "MaxOps = -1": {MaxOps: -1},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, want)
	}
	dir := t.TempDir()
	_, err := Open(filepath.Join(dir, "missing", "door"), Options{})
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open(dir, Options{})
	require.Error(t, err)
	other := filepath.Join(dir, "other")
	require.NoError(t, os.WriteFile(other, []byte("somebody's configuration\n"), 0o600))
	_, err = Open(other, Options{})
	require.ErrorContains(t, err, "no door's file")
	text, err := os.ReadFile(other)
	require.NoError(t, err)
	require.Equal(t, "somebody's configuration\n", string(text))

	d, err := New(Options{})
	require.NoError(t, err)
	_, err = d.Do(t.Context(), Command{Resource: "r", Stamp: at(t, 1, 1)}, nil)
	require.Error(t, err)
}

// Two names of one file were two locks, and two memories.
func TestOnlyAFileItselfIsOpened(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "door"), filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(file, link))
	for range 2 {
		_, err := Open(link, Options{})
		require.ErrorContains(t, err, link+": it is a symbolic link")
		d, err := Open(file, Options{}) // at first the link leads to nothing
		require.NoError(t, err)
		require.NoError(t, d.Close())
	}
	_, err := Open(dir, Options{})
	require.ErrorContains(t, err, dir+": it is no regular file")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 3, "the file, its lock, the link")
}

// Somebody takes the lock of a door that is open for one left over, or its file for one
// that nobody needs. The next Open would have an older owner's command behind a newer one.
func TestADoorWhoseFilesWereRemovedLetsNothingThrough(t *testing.T) {
	for _, suffix := range []string{"", ".lock"} {
		for _, again := range []bool{false, true} {
			path := filepath.Join(t.TempDir(), "door")
			do := func(d *Door, st fencing.Stamp) error {
				_, err := d.Do(t.Context(), Command{Resource: "r", Stamp: st}, func(context.Context) ([]byte, error) { return nil, nil })
				return err
			}
			a, err := Open(path, Options{})
			require.NoError(t, err)
			require.NoError(t, do(a, at(t, 7, 1)))
			require.NoError(t, os.Remove(path+suffix))
			if again {
				b, err := Open(path, Options{})
				if suffix == "" {
					require.ErrorContains(t, err, "another Door has it open")
				} else {
					require.NoError(t, err)
					require.NoError(t, do(b, at(t, 9, 1)))
					require.NoError(t, b.Close())
				}
			}
			for range 2 {
				err := do(a, at(t, 8, 1))
				require.ErrorContains(t, err, "opened again")
				require.ErrorContains(t, err, path+suffix)
			}
			require.Equal(t, at(t, 7, 1), a.Last("r"))
			require.NoError(t, a.Close())
		}
	}
}

// Two doors on one file leave the proof in it.
func TestAFileThatGoesBackIsNotOpened(t *testing.T) {
	s := newScene(t)
	_, err := s.do(Command{Stamp: at(t, 9, 1)}, nil)
	require.NoError(t, err)
	require.NoError(t, s.journal.append(entry{Resource: "r", Last: at(t, 8, 1)}))
	require.NoError(t, s.Door.Close())
	_, err = Open(s.path, Options{})
	require.ErrorContains(t, err, `resource "r" goes back from 0x9:1 to 0x8:1 with no override`)
	s.Door = nil
	require.NoError(t, os.Remove(s.path))
	s.reopen()
}
