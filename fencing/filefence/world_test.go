package filefence

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/fencetest"
)

func stamp(t testing.TB, text string) fencing.Stamp {
	t.Helper()
	s, err := fencing.ParseStamp(text)
	require.NoError(t, err)
	return s
}

func open(t testing.TB, dir string, opts ...Option) *Guard {
	t.Helper()
	g, err := New(dir, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
}

func content(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(b)
}

func last(t testing.TB, g *Guard, name string) fencing.Stamp {
	t.Helper()
	f, s, err := g.Open(t.Context(), name)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	return s
}

// bodies are those that lie about.
func bodies(t testing.TB, dir, name string) (found []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, home, name))
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), bodyPrefix) {
			found = append(found, e.Name())
		}
	}
	return found
}

// store is a folder of files whose content is a list, one entry a line.
type store struct{ dir string }

func (s store) Open(context.Context) (fencetest.Guard, error) {
	g, err := New(s.dir)
	return lists{g, s.dir}, err
}

type lists struct {
	*Guard
	dir string
}

func (l lists) Do(ctx context.Context, c fencetest.Command) (string, error) {
	return "", l.append(ctx, c.Resource, c.Stamp, c.Entry, func() error {
		fencetest.Pause(ctx)
		if c.Fail {
			return fencetest.ErrCommand
		}
		return nil
	})
}

// append publishes what is published and one line more.
func (l lists) append(ctx context.Context, name string, s fencing.Stamp, entry string, then func() error) error {
	return l.Publish(ctx, name, s, func(w io.Writer) error {
		fencetest.Pause(ctx)
		old, err := os.ReadFile(filepath.Join(l.dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		for _, part := range []string{string(old), entry, "\n"} {
			if _, err := io.WriteString(w, part); err != nil {
				return err
			}
		}
		return then()
	})
}

func (l lists) Read(ctx context.Context, name string) ([]string, fencing.Stamp, error) {
	f, last, err := l.Guard.Open(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, last, nil
	}
	if err != nil {
		return nil, last, err
	}
	defer func() { _ = f.Close() }()
	b, err := io.ReadAll(f)
	return lines(string(b)), last, err
}

func lines(s string) []string { return strings.Fields(s) }

func TestKeepsTheRule(t *testing.T) {
	fencetest.Run(t, fencetest.Subject{New: func(t fencetest.TB) fencetest.Store { return store{t.TempDir()} }})
}
