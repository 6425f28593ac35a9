package queue

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// A create is under way when its caller leaves, and the session ends before its
// call has returned. The node, if there is one, goes with the session; that none
// is left nobody has said.
func TestLeavingACreateBehindIsNoProof(t *testing.T) {
	run(t, func(t *testing.T, w *world) {
		w.Server.At(zktest.OpCreate, func(zktest.Request) { w.Server.Freeze(zktest.BothWays) })
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		p := w.line.Join(w.s)
		require.ErrorIs(t, p.Await(ctx, Events{}), context.DeadlineExceeded)
		left := make(chan *Departure)
		go func() { left <- p.Leave() }()
		go func() { _ = w.client.Close(w.ctx) }()
		d := <-left
		<-d.Done()
		require.False(t, d.Proven())
		w.Server.Heal()
	})
}
