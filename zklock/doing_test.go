package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// "context deadline exceeded" was all that Lock had to say of any of these.
func TestTheEndOfAWaitSaysWhatTheWaitWasAt(t *testing.T) {
	// giveUp calls Lock on host b after ready, for a second.
	giveUp := func(t *testing.T, w *world, ready func()) error {
		m := w.mutex(w.dial("b"))
		ready()
		ctx, cancel := context.WithTimeout(w.ctx, time.Second)
		defer cancel()
		_, err := m.Lock(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "zklock: lock "+path+": ")
		return err
	}

	t.Run("ASession", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			c := w.dial("a")
			session := w.session(c)
			w.Server.Refuse(true)
			require.NoError(t, w.Server.Expire(session))
			w.pass(2 * T)
			ctx, cancel := context.WithTimeout(w.ctx, time.Second)
			defer cancel()
			_, err := w.mutex(c).Lock(ctx)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.ErrorContains(t, err, ", waiting for a session")
			w.Server.Refuse(false)
		})
	})

	t.Run("TheEnrolment", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			err := giveUp(t, w, func() {
				w.Server.From("b").At(zktest.OpCreate, func(zktest.Request) { w.Server.From("b").Freeze(zktest.BothWays) })
			})
			require.ErrorContains(t, err, ", enrolling")
			w.Server.Heal()
		})
	})

	t.Run("WhoIsAheadAndHowMany", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.lock(w.mutex(w.dial("a")))
			holder := w.Server.Children(path)[0]
			err := giveUp(t, w, func() {})
			require.ErrorContains(t, err, fmt.Sprintf(", waiting behind %s, 1 ahead", holder))
		})
	})

	t.Run("AndNothingOfItOnceTheErrorIsAnother", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			w.lock(w.mutex(w.dial("a")))
			_, err := w.mutex(w.dial("b")).TryLock(w.ctx)
			require.NotContains(t, err.Error(), "waiting")
		})
	})
}
