package door

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
)

// Whatever name a refused command came with was kept for ever, though nothing was
// remembered of it: whoever could reach the door could fill its memory.
func TestARefusedNameIsNotKept(t *testing.T) {
	s := newScene(t)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	run := func(context.Context) ([]byte, error) { s.runs++; return nil, nil }
	for i := range 1000 {
		name := fmt.Sprint("guess-", i)
		_, err := s.Do(t.Context(), Command{Resource: name}, run)
		require.ErrorIs(t, err, fencing.ErrZeroToken)
		require.ErrorIs(t, s.Raise(t.Context(), name, fencing.Token{}), fencing.ErrZeroToken)
		_, err = s.Do(gone, Command{Resource: name, Stamp: at(t, 1, 1)}, run)
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Empty(t, s.rooms)
	s.ran(0)

	// Nor if it stands there while the file is written anew.
	_, leave, err := s.enter(t.Context(), "guess")
	require.NoError(t, err)
	require.NoError(t, s.journal.replace(s.entries()))
	leave()
	s.reopen()
	require.Empty(t, s.rooms)

	// A floor is something, and so is the record of an override to nothing.
	_, err = s.Do(t.Context(), Command{Resource: "floor", Stamp: at(t, 1, 0)}, run)
	require.ErrorIs(t, err, fencing.ErrZeroSeq)
	require.NoError(t, s.Override(t.Context(), "override", fencing.Stamp{}, "Ada", "rebuilt"))
	require.Len(t, s.rooms, 2)
	require.Equal(t, at(t, 1, 0), s.Last("floor"))
	require.Len(t, s.Overrides("override"), 1)
}

// If a room went while somebody waits for its turn, the next to come would find another
// with a turn of its own, and two commands would run at once.
func TestARoomStaysWhileSomebodyIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, err := New(Options{})
		require.NoError(t, err)
		first, leave, err := d.enter(t.Context(), "r")
		require.NoError(t, err)
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err = d.enter(gone, "r")
		require.ErrorIs(t, err, context.Canceled)
		require.Same(t, first, d.rooms["r"], "the first has its turn")

		leaves := make(chan func(), 1)
		go func() {
			second, leave, err := d.enter(t.Context(), "r")
			if err != nil || second != first {
				t.Errorf("entered %p, %v, want %p", second, err, first)
			}
			leaves <- leave
		}()
		synctest.Wait()
		leave()
		leave = <-leaves
		require.Same(t, first, d.rooms["r"], "the second has its turn")
		leave()
		require.Empty(t, d.rooms)
		require.NoError(t, d.Close())
	})
}
