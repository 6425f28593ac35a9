//go:build linux

package worker

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// The one in front lives on and never lets go: who cycles behind it says that it
// waits, and does not start anew, minute by minute, as after a failed attempt.
func TestACycleEndsWhereAWaitDoesNot(t *testing.T) {
	bubble.Run(t, func(b *bubble.B) {
		ctx, cancel := context.WithTimeout(b.T.Context(), time.Hour)
		defer cancel()
		mutex := func(name string) *zklock.Mutex {
			client, err := zkconn.Dial(ctx, b.Servers(), zkconn.WithDialer(b.Dialer(name)))
			require.NoError(b.T, err)
			b.Cleanup(func() {
				closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
				defer cancel()
				require.NoError(b.T, client.Close(closing))
			})
			m, err := zklock.New(client, "/l")
			require.NoError(b.T, err)
			return m
		}
		_, err := mutex("a").Lock(ctx)
		require.NoError(b.T, err)
		teller := newTeller("W1", io.Discard)
		w := &worker{teller: teller, place: place{teller, "/l"}, mutex: mutex("b")}
		began := time.Now()
		_, err = w.cycle(ctx)
		require.ErrorIs(b.T, err, errWaitsOn)
		require.WithinRange(b.T, time.Now(), began.Add(lockTimeout), began.Add(lockTimeout+time.Second))
	})
}
