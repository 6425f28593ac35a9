package casfence

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// counted counts requests.
type counted struct {
	Memory
	gets, puts int
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, string, error) {
	c.gets++
	return c.Memory.Get(ctx, key)
}

func (c *counted) Put(ctx context.Context, key string, value []byte, version string) (string, error) {
	c.puts++
	return c.Memory.Put(ctx, key, value, version)
}

// What a guard takes for granted, of both stores.
func TestStores(t *testing.T) {
	for name, fresh := range map[string]func(t *testing.T) Store{
		"Memory": func(*testing.T) Store { return new(Memory) },
		"Files": func(t *testing.T) Store {
			f, err := OpenFiles(t.TempDir())
			require.NoError(t, err)
			t.Cleanup(func() { _ = f.Close() })
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := fresh(t)
			ctx := t.Context()
			value, none, err := s.Get(ctx, "a/b")
			require.NoError(t, err)
			require.Empty(t, value)
			require.Empty(t, none)
			_, err = s.Put(ctx, "a/b", []byte("x"), "7")
			require.ErrorIs(t, err, ErrConflict, "nothing is there")
			v1, err := s.Put(ctx, "a/b", []byte{}, "")
			require.NoError(t, err)
			require.NotEmpty(t, v1, "an empty value is one")
			_, err = s.Put(ctx, "a/b", []byte("y"), "")
			require.ErrorIs(t, err, ErrConflict)
			v2, err := s.Put(ctx, "a/b", []byte("y\x00z"), v1)
			require.NoError(t, err)
			require.NotEqual(t, v1, v2)
			_, err = s.Put(ctx, "a/b", []byte("z"), v1)
			require.ErrorIs(t, err, ErrConflict)
			value, version, err := s.Get(ctx, "a/b")
			require.NoError(t, err)
			require.Equal(t, "y\x00z", string(value))
			require.Equal(t, v2, version)
			_, version, err = s.Get(ctx, "a")
			require.NoError(t, err)
			require.Empty(t, version)

			ended, cancel := context.WithCancel(ctx)
			cancel()
			_, _, err = s.Get(ended, "a/b")
			require.ErrorIs(t, err, context.Canceled)
			_, err = s.Put(ended, "c", nil, "")
			require.ErrorIs(t, err, context.Canceled)
			_, version, err = s.Get(ctx, "c")
			require.NoError(t, err)
			require.Empty(t, version)

			// Of all who found one version, one writes.
			var won atomic.Int64
			var wg sync.WaitGroup
			for i := range 32 {
				wg.Go(func() {
					_, err := s.Put(ctx, "a/b", []byte(strconv.Itoa(i)), v2)
					if err == nil {
						won.Add(1)
					} else if !errors.Is(err, ErrConflict) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			require.EqualValues(t, 1, won.Load())
		})
	}
}

// A process that died while it wrote has left half a file; nobody reads that.
func TestFilesOfTheDeadAreWrittenOver(t *testing.T) {
	dir := t.TempDir()
	f, err := OpenFiles(dir)
	require.NoError(t, err)
	defer func() { _ = f.Close() }()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "new"), []byte("pointers/half of something that is long"), 0o600))
	_, err = f.Put(t.Context(), "a", []byte("x"), "")
	require.NoError(t, err)
	value, _, err := f.Get(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, "x", string(value))

	require.NoError(t, os.WriteFile(filepath.Join(dir, digest([]byte("b"))), []byte("no key"), 0o600))
	_, _, err = f.Get(t.Context(), "b")
	require.ErrorContains(t, err, "damaged")
}

// A folder in which nothing can be written is a clear answer: every Put fails before
// the rename, which alone changes a value. It was taken for one that may be under way,
// sent 40 times, and ended as an unknown outcome, which asks to be tried again.
func TestFilesThatCannotBeWrittenAreNotUnknown(t *testing.T) {
	for _, blocked := range []string{"new", "lock"} {
		t.Run(blocked, func(t *testing.T) {
			dir := t.TempDir()
			f, err := OpenFiles(dir)
			require.NoError(t, err)
			defer func() { _ = f.Close() }()
			path := filepath.Join(dir, blocked)
			require.NoError(t, os.Mkdir(path, 0o777)) // no file can be opened there, by root neither
			g := guardOf(t, f)
			for _, err := range []error{
				g.Raise(t.Context(), "r", stamp(t, "0x1:0").Token),
				g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")),
			} {
				require.ErrorIs(t, err, ErrNotWritten)
				require.ErrorContains(t, err, blocked)
				require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
			}
			require.NoError(t, os.Remove(path))
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
		})
	}
}
