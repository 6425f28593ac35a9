package door

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/internal/fulldisk"
)

func TestAFullDisk(t *testing.T) {
	fulldisk.Alone(t, func() { aFullDisk(t) })
}

func aFullDisk(t *testing.T) {
	s := newScene(t)
	_, err := s.do(Command{Stamp: at(t, 10, 1)}, nil)
	require.NoError(t, err)
	s.ran(1)
	info, err := os.Stat(s.path)
	require.NoError(t, err)

	// Not even the intent has room: nothing runs, nothing is half-written.
	fulldisk.WithRoom(t, uint64(info.Size()+10), func() {
		_, err = s.do(Command{Stamp: at(t, 20, 1)}, nil)
		require.ErrorIs(t, err, syscall.EFBIG)
		require.ErrorContains(t, err, s.path)
		require.NotErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorIs(t, s.Raise(t.Context(), "r", at(t, 20, 0).Token), syscall.EFBIG)
	})
	s.ran(0)
	require.Equal(t, at(t, 10, 1), s.Last("r"))
	s.reopen()
	require.Equal(t, at(t, 10, 1), s.Last("r"))

	// The outcome has none: it has been carried out, and nothing can say so for good.
	info, err = os.Stat(s.path)
	require.NoError(t, err)
	fulldisk.WithRoom(t, uint64(info.Size()+300), func() {
		_, err = s.Do(t.Context(), Command{Resource: "r", Stamp: at(t, 20, 1)}, func(context.Context) ([]byte, error) { s.runs++; return make([]byte, 1000), nil })
		require.ErrorIs(t, err, fencing.ErrUnknownOutcome)
		require.ErrorIs(t, err, syscall.EFBIG)
		require.ErrorContains(t, err, "has been carried out")
	})
	s.ran(1)
	s.time = s.time.Add(settle)
	_, err = s.do(Command{Stamp: at(t, 20, 2)}, nil)
	require.NoError(t, err, "there is room again")
}

// After a failed write that could not be taken back, nobody knows what the file says.
func TestAFileThatFailsLetsNothingThrough(t *testing.T) {
	s := newScene(t)
	require.NoError(t, s.journal.file.Close())
	for range 2 {
		_, err := s.do(Command{Stamp: at(t, 10, 1)}, nil)
		require.ErrorIs(t, err, os.ErrClosed)
		require.ErrorContains(t, err, "opened again")
	}
	s.ran(0)
	require.ErrorIs(t, s.Door.Close(), os.ErrClosed)
	s.Door = nil
	s.reopen()
}
