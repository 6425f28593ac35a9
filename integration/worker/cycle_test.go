//go:build linux

package worker

import (
	"context"
	"encoding/json"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
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

// A holder that hears nothing is Suspect while it is still trusted.
func TestABeliefTellsTheState(t *testing.T) {
	bubble.Run(t, func(b *bubble.B) {
		ctx, cancel := context.WithTimeout(b.T.Context(), time.Hour)
		defer cancel()
		client, err := zkconn.Dial(ctx, b.Servers(), zkconn.WithDialer(b.Dialer("a")))
		require.NoError(b.T, err)
		b.Cleanup(func() {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			require.NoError(b.T, client.Close(closing))
		})
		mutex, err := zklock.New(client, "/l")
		require.NoError(b.T, err)
		told, out := io.Pipe()
		defer func() { require.NoError(b.T, told.Close()) }()
		events := make(chan history.Event)
		go func() {
			defer close(events)
			for d := json.NewDecoder(told); ; {
				var l line
				if d.Decode(&l) != nil {
					return
				}
				events <- *l.Event
			}
		}()
		teller := newTeller("W1", out)
		w := &worker{teller: teller, place: place{teller, "/l"}, mutex: mutex}
		locked := make(chan error, 1)
		go func() { locked <- w.lock(ctx) }()
		var states []string
		for e := range events {
			if e.Kind != history.Belief {
				continue
			}
			if len(states) == 0 {
				b.Net.Partition("a", b.Server.Addr())
			}
			if states = append(states, e.State); e.State == "Suspect" {
				break
			}
		}
		require.NoError(b.T, <-locked)
		require.Equal(b.T, "Held", states[0])
		b.Net.HealAll()
		go func() {
			for range events { // nobody wants them any more
			}
		}()
		require.NoError(b.T, w.unlock(ctx))
		require.NoError(b.T, out.Close())
	})
}
