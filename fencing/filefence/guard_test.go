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
)

// A process that is stopped in the middle of its file must not keep the next owner
// out, and what it goes on to write must not be taken from under it.
func TestAStoppedWriterKeepsNobodyOutAndIsRefused(t *testing.T) {
	dir := t.TempDir()
	old, next := open(t, dir), open(t, dir)
	require.NoError(t, old.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	err := old.Publish(t.Context(), "r", stamp(t, "0x1:2"), func(w io.Writer) error {
		require.NoError(t, text("half of ")(w))
		require.NoError(t, next.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("the next owner's")))
		require.Len(t, bodies(t, dir, "r"), 1, "the body of a writer that lives was cleaned away")
		return text("the late one's")(w)
	})
	require.ErrorIs(t, err, fencing.ErrStale)
	require.Equal(t, "the next owner's", content(t, dir, "r"))
	require.Equal(t, stamp(t, "0x2:1"), last(t, old, "r"))
	require.Empty(t, bodies(t, dir, "r"))
}

func TestAPanickingWriterLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	require.PanicsWithValue(t, "boom", func() {
		_ = g.Publish(t.Context(), "r", stamp(t, "0x1:1"), func(io.Writer) error { panic("boom") })
	})
	require.Empty(t, bodies(t, dir, "r"))
	require.Equal(t, stamp(t, "0x1:0"), last(t, g, "r"))
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("x")))
}

// Case: a file system without room for the content.
func TestAWriteErrorIsReturnedAndPublishesNothing(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	errFull := errors.New("no space left")
	require.Equal(t, errFull, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), func(w io.Writer) error {
		require.NoError(t, text("half")(w))
		return errFull
	}))
	require.Equal(t, "first", content(t, dir, "r"))
	require.Empty(t, bodies(t, dir, "r"))
}

// A memory that cannot be read, taken for none, would let the oldest owner in.
func TestAnUnreadableMemoryLetsNobodyIn(t *testing.T) {
	for name, spoiled := range map[string]string{
		"Empty": "", "Cut": `{"format":1,"resource":"r","la`, "OtherFormat": `{"format":2,"resource":"r"}`, "Object": `{}`, "BadStamp": `{"format":1,"resource":"r","last":"0x01:1"}`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			g := open(t, dir)
			require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
			require.NoError(t, os.WriteFile(filepath.Join(dir, home, "r", "memory"), []byte(spoiled), 0o600))
			err := g.Publish(t.Context(), "r", stamp(t, "0x2:1"), text("second"))
			require.ErrorContains(t, err, "nothing is let in")
			require.ErrorContains(t, err, home+"/r/memory")
			require.Error(t, g.Raise(t.Context(), "r", stamp(t, "0x2:1").Token))
			err = g.Override(t.Context(), "r", stamp(t, "0x2:0"), "who", "why")
			require.Error(t, err, "what it replaces would be unknown")
			require.Equal(t, "first", content(t, dir, "r"))
		})
	}
	// As where "A" and "a" are one folder.
	t.Run("OfAnotherName", func(t *testing.T) {
		dir := t.TempDir()
		g := open(t, dir)
		require.NoError(t, g.Publish(t.Context(), "a", stamp(t, "0x1:1"), text("first")))
		require.NoError(t, os.Rename(filepath.Join(dir, home, "a"), filepath.Join(dir, home, "A")))
		require.ErrorIs(t, g.Publish(t.Context(), "A", stamp(t, "0x2:1"), text("second")), fencing.ErrBadResource)
	})
}

func TestNamesStayInTheFolder(t *testing.T) {
	outer := t.TempDir()
	dir := filepath.Join(outer, "inner")
	require.NoError(t, os.Mkdir(dir, 0o700))
	g := open(t, dir)
	for _, name := range []string{"", ".", "..", "../x", "a/b", "/etc/x", ".zkfence", ".hidden", "a\x00", strings.Repeat("x", 256)} {
		for what, err := range map[string]error{
			"Publish": g.Publish(t.Context(), name, stamp(t, "0x1:1"), text("x")),
			"Raise":   g.Raise(t.Context(), name, stamp(t, "0x1:1").Token),
		} {
			require.ErrorIs(t, err, fencing.ErrBadResource, "%s %q", what, name)
		}
		_, _, err := g.Open(t.Context(), name)
		require.ErrorIs(t, err, fencing.ErrBadResource, "%q", name)
		_, err = g.Last(t.Context(), name)
		require.ErrorIs(t, err, fencing.ErrBadResource, "%q", name)
		err = g.Override(t.Context(), name, stamp(t, "0x1:1"), "who", "why")
		require.ErrorIs(t, err, fencing.ErrBadResource, "%q", name)
		_, err = g.Overrides(t.Context(), name)
		require.ErrorIs(t, err, fencing.ErrBadResource, "%q", name)
	}
	require.NoError(t, g.Publish(t.Context(), strings.Repeat("x", 255), stamp(t, "0x1:1"), text("x")))
	found, err := os.ReadDir(outer)
	require.NoError(t, err)
	require.Len(t, found, 1)
}

func TestWhatCannotBeAGuard(t *testing.T) {
	_, err := New(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	plain := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(plain, nil, 0o600))
	_, err = New(plain)
	require.Error(t, err)
	for _, mode := range []fs.FileMode{0, 0o200, fs.ModeDir | 0o755} {
		_, err = New(t.TempDir(), WithMode(mode))
		require.ErrorContains(t, err, "mode")
	}
	_, err = New(t.TempDir(), Option{})
	require.ErrorContains(t, err, "empty option")
	require.Error(t, open(t, t.TempDir()).Publish(t.Context(), "r", stamp(t, "0x1:1"), nil))
}

func TestAFolderInTheWayIsNamedAndNothingIsRemembered(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "r", "full"), 0o700))
	err := g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("x"))
	require.Error(t, err)
	require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorContains(t, err, `"r"`)
	require.Empty(t, bodies(t, dir, "r"))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "r")))
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("x")), "its Stamp had not counted")
}

func TestPublishedFilesHaveTheMode(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, open(t, dir, WithMode(0o600)).Publish(t.Context(), "r", stamp(t, "0x1:1"), text("x")))
	info, err := os.Stat(filepath.Join(dir, "r"))
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
}

// What was in the folder before the guard counts as published by nobody.
func TestAFileOfBeforeIsReplaced(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "r"), []byte("old"), 0o600))
	g := open(t, dir)
	require.Equal(t, fencing.Stamp{}, last(t, g, "r"))
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("new")))
	require.Equal(t, "new", content(t, dir, "r"))
}

func TestLastIsWhatIsRemembered(t *testing.T) {
	g := open(t, t.TempDir())
	remembered := func(want string) {
		t.Helper()
		last, err := g.Last(t.Context(), "r")
		require.NoError(t, err)
		require.Equal(t, want, last.String())
	}
	remembered("0x0:0")
	require.NoError(t, g.Raise(t.Context(), "r", stamp(t, "0x1:0").Token))
	remembered("0x1:0")
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), text("x")))
	remembered("0x1:2")
	require.ErrorIs(t, g.Raise(t.Context(), "r", fencing.Token{}), fencing.ErrZeroToken)
	remembered("0x1:2")
	_, err := g.Last(t.Context(), "")
	require.ErrorIs(t, err, fencing.ErrBadResource)
}

// A command is tried again by another process while the first one, stopped in its
// function, still has it, and that fails when it goes on: by what it then sees, or by
// a full disk. "Nothing has been published" was wrong of that Stamp, and a newer owner
// was hidden from one that had lost.
func TestAFunctionsErrorHidesNeitherItsOwnRetryNorARefusal(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile string
		want      error
	}{"Retry": {"0x1:2", fencing.ErrDuplicate}, "NewerOwner": {"0x2:1", fencing.ErrStale}} {
		for _, full := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				dir := t.TempDir()
				g, other := open(t, dir), open(t, dir)
				require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
				errs := errors.New("there already")
				err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), func(io.Writer) error {
					require.NoError(t, other.Publish(t.Context(), "r", stamp(t, c.meanwhile), text("other")))
					if !full {
						return errs
					}
					g.step = func(what string) error {
						if what == "sync new-" {
							return errs
						}
						return nil
					}
					return nil
				})
				require.ErrorIs(t, err, c.want)
				require.NotErrorIs(t, err, errs)
				require.Equal(t, "other", content(t, dir, "r"))
			})
		}
	}
}

// Where nobody can look any more, nobody knows.
func TestAFunctionsErrorIsUnknownIfNobodyCouldLook(t *testing.T) {
	g := open(t, t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	errs := errors.New("failed")
	err := g.Publish(ctx, "r", stamp(t, "0x1:1"), func(io.Writer) error { cancel(); return errs })
	require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
	require.ErrorIs(t, err, errs)
}
