package filefence

import (
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/fulldisk"
)

// On a full disk a function that did not look at what Fprintf returns had the part
// that fitted published in place of the good file, and its retry was a duplicate: the
// content was lost for good.
func TestAWriteErrorThatTheFunctionIgnoresPublishesNothing(t *testing.T) {
	fulldisk.Alone(t, func() { aWriteErrorThatTheFunctionIgnoresPublishesNothing(t) })
}

func aWriteErrorThatTheFunctionIgnoresPublishesNothing(t *testing.T) {
	dir := t.TempDir()
	g := open(t, dir)
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:1"), text("first")))
	line := strings.Repeat("x", 999)
	careless := func(w io.Writer) error {
		for range 8 {
			_, _ = fmt.Fprintln(w, line)
		}
		return nil
	}
	fulldisk.WithRoom(t, 4500, func() {
		err := g.Publish(t.Context(), "r", stamp(t, "0x1:2"), careless)
		require.ErrorIs(t, err, syscall.EFBIG)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorContains(t, err, `"r" was not published`)
		require.Equal(t, "first", content(t, dir, "r"))
		require.Equal(t, stamp(t, "0x1:1"), last(t, g, "r"))
		require.Empty(t, bodies(t, dir, "r"), "the half that was written takes up the room")
	})
	require.NoError(t, g.Publish(t.Context(), "r", stamp(t, "0x1:2"), careless), "its Stamp had not counted")
	require.Equal(t, strings.Repeat(line+"\n", 8), content(t, dir, "r"))

	// Half of one line went to disk, and there is room again for the others: a file
	// with a hole is no better than a short one.
	err := g.Publish(t.Context(), "r", stamp(t, "0x1:3"), func(w io.Writer) error {
		fulldisk.WithRoom(t, 500, func() { _, _ = fmt.Fprintln(w, line) })
		_, err := fmt.Fprintln(w, line)
		require.ErrorIs(t, err, syscall.EFBIG, "the one before")
		return nil
	})
	require.ErrorIs(t, err, syscall.EFBIG)
	require.Equal(t, strings.Repeat(line+"\n", 8), content(t, dir, "r"))
}
