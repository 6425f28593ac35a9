package zklock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
)

// Each of these was a nil dereference somewhere below, Do's with the lock held.
func TestMisuseIsAnErrorThatNamesIt(t *testing.T) {
	t.Run("DoWithoutAFunctionTakesNoLock", func(t *testing.T) {
		run(t, func(t *testing.T, w *world) {
			m := w.mutex(w.dial("a"))
			since := w.mark()
			require.EqualError(t, m.Do(w.ctx, nil), "zklock: do "+path+": fn = nil")
			require.Empty(t, w.requests(since, "a"))
		})
	})

	t.Run("NewWithAClientThatNobodyDialed", func(t *testing.T) {
		_, err := zklock.New(&zkconn.Client{}, path)
		require.ErrorContains(t, err, "zklock: client is the zero zkconn.Client")
	})
}
