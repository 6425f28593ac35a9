package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

// The server looks once a minute, from its start.
func TestNodesWithATTL(t *testing.T) {
	const ttl = 90 * time.Second
	minute := func(t *testing.T, run func(w *scene, a *rawClient)) {
		t.Helper()
		inScene(t, func(w *scene) {
			a := w.raw("A", time.Hour)
			a.must(wire.OpCreateTTL, createTTL("/t", "", 5, ttl.Milliseconds(), open...))
			run(w, a)
		}, zktest.WithSessionTimeouts(time.Hour, time.Hour))
	}
	// until sleeps to an instant of the server's clock, and a moment more.
	until := func(w *scene, start time.Time, at time.Duration) {
		time.Sleep(time.Until(start.Add(at + time.Second)))
	}

	t.Run("GoAtTheNextCheckAfterIt", func(t *testing.T) {
		minute(t, func(w *scene, _ *rawClient) {
			start := time.Now()
			until(w, start, time.Minute)
			require.True(t, w.srv.Exists("/t"))
			until(w, start, 2*time.Minute-2*time.Second)
			require.True(t, w.srv.Exists("/t"), "its time is over, but nobody has looked")
			until(w, start, 2*time.Minute)
			require.False(t, w.srv.Exists("/t"))
		})
	})

	t.Run("HaveTheirWholeTTLAgainAfterAChangeOfData", func(t *testing.T) {
		minute(t, func(w *scene, a *rawClient) {
			start := time.Now()
			until(w, start, 80*time.Second)
			a.must(wire.OpSetData, setData("/t", "", -1))
			until(w, start, 2*time.Minute)
			require.True(t, w.srv.Exists("/t"))
			until(w, start, 3*time.Minute)
			require.False(t, w.srv.Exists("/t"))
		})
	})

	t.Run("StayWhileTheyHaveAChild", func(t *testing.T) {
		minute(t, func(w *scene, a *rawClient) {
			start := time.Now()
			a.must(wire.OpCreate, create("/t/child", "", 0, open...))
			until(w, start, 5*time.Minute)
			require.True(t, w.srv.Exists("/t"))
			a.must(wire.OpDelete, versioned("/t/child", -1)) // no change of the node's own data
			until(w, start, 6*time.Minute)
			require.False(t, w.srv.Exists("/t"))
		})
	})

	t.Run("GoOneByOne", func(t *testing.T) {
		minute(t, func(w *scene, a *rawClient) {
			a.must(wire.OpDelete, versioned("/t", -1))
			a.must(wire.OpMulti, multi(
				sub{wire.OpCreateTTL, createTTL("/u", "", 5, ttl.Milliseconds(), open...)},
				sub{wire.OpCreateTTL, createTTL("/v", "", 5, ttl.Milliseconds(), open...)},
				sub{wire.OpCreateContainer, create("/c", "", 4, open...)},
				sub{wire.OpCreate, create("/c/child", "", 0, open...)},
				sub{wire.OpDelete, versioned("/c/child", -1)}))
			require.Equal(t, 1, w.srv.ReapContainers(), "the container; the others have time left")
			before := w.srv.Zxid()
			_, stat, err := w.srv.Get("/u")
			require.NoError(t, err)
			time.Sleep(time.Until(time.UnixMilli(stat.Mtime).Add(ttl)))
			require.Zero(t, w.srv.ReapContainers(), "exactly its TTL is not longer than it")
			time.Sleep(time.Millisecond)
			require.Equal(t, 2, w.srv.ReapContainers())
			require.Equal(t, before+2, w.srv.Zxid())
		})
	})

	t.Run("HaveAPositiveOneOrTheConnectionEnds", func(t *testing.T) {
		// A real server ends itself over this one.
		minute(t, func(w *scene, a *rawClient) {
			a.send(wire.OpCreateTTL, createTTL("/plain", "", 0, -1, open...))
			a.gone()
			require.False(t, w.srv.Exists("/plain"))
			require.Len(t, w.srv.Sessions(), 1, "the session lives")
		})
	})

	t.Run("CanBeParentsOfEphemerals", func(t *testing.T) {
		minute(t, func(w *scene, a *rawClient) {
			require.Zero(t, a.must(wire.OpCreate, create("/t/e", "", 1, open...)).Err)
			a.must(wire.OpCloseSession, nil)
			require.Equal(t, []string{"t", "zookeeper"}, w.srv.Children("/"))
			require.Empty(t, w.srv.Children("/t"))
		})
	})
}
