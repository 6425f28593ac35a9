package resource_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/resource"
)

func write(seq uint64) history.Command {
	token, err := fencing.FromUint64(7)
	if err != nil {
		panic(err)
	}
	return history.Command{Call: history.Write, Stamp: fencing.Stamp{Token: token, Seq: seq}}
}

// A sender that has given up does not call its command back: it is on its way, as
// in a switch's buffer, and arrives when the test says so.
func TestWhatIsOnItsWayArrivesThoughNobodyWaits(t *testing.T) {
	var accepted []fencing.Stamp
	s := resource.Serve(t, true, func(stamp fencing.Stamp) { accepted = append(accepted, stamp) })
	s.Hold()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sending, giveUp := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() {
		_, err := resource.NewClient(s.URL()).Do(sending, write(1))
		gaveUp <- err
	}()
	require.NoError(t, s.OnItsWay(ctx, 1))
	giveUp()
	require.ErrorIs(t, <-gaveUp, context.Canceled)
	require.Empty(t, accepted)
	a, err := s.Deliver(ctx, func(history.Command) bool { return true })
	require.NoError(t, err)
	require.True(t, a.OK)
	require.Equal(t, []fencing.Stamp{write(1).Stamp}, accepted)
	s.Flow()

	// And then they pass as they come.
	a, err = resource.NewClient(s.URL()).Do(ctx, write(1))
	require.NoError(t, err)
	require.Equal(t, history.Answer{Refused: history.Duplicate, Last: write(1).Stamp}, a)
}
