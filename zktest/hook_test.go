package zktest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestObservation(t *testing.T) {
	t.Run("CountsRequestsByKindAndClient", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a, b := w.raw("A", long), w.raw("B", long)
			for range 3 {
				a.must(wire.OpExists, watched("/", false))
				a.must(wire.OpPing, nil)
			}
			b.must(wire.OpExists, watched("/", false))
			b.must(wire.OpSync, onPath("/"))
			require.Equal(t, 4, w.srv.Count(zktest.OpExists))
			require.Equal(t, 5, w.srv.Count(zktest.AnyOp))
			require.Equal(t, 3, w.srv.Count(zktest.OpPing))
			require.Equal(t, 2, w.srv.Count(zktest.OpCreateSession))
			require.Equal(t, 1, w.srv.For(a.session).Count(zktest.OpCreateSession))
			require.Equal(t, 3, w.srv.For(a.session).Count(zktest.AnyOp))
			require.Equal(t, 2, w.srv.From("B").Count(zktest.AnyOp))
			w.srv.ResetCounts()
			require.Zero(t, w.srv.Count(zktest.AnyOp))
		})
	})

	t.Run("RemembersRequestsAndTheirAnswers", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			a.must(wire.OpExists, watched("/none", true))
			zxid := a.must(wire.OpCreate, create("/none", "", 0, open...)).Zxid
			w.srv.DropRequest(zktest.OpMulti, 1)
			a.send(wire.OpMulti, multi(sub{wire.OpCheck, versioned("/in/a/multi", -1)}))
			a.gone()
			got := w.srv.For(a.session).Requests()
			require.Len(t, got, 4)
			require.Equal(t, zktest.OpCreateSession, got[0].Op)
			got = got[1:]
			require.Equal(t, zktest.OpExists, got[0].Op)
			require.Equal(t, wire.NoNode, got[0].Err)
			require.True(t, got[0].Answered)
			require.Equal(t, zxid, got[1].Zxid)
			require.Equal(t, "/in/a/multi", got[2].Path)
			require.Equal(t, "DropRequest", got[2].Fault)
			require.False(t, got[2].Answered)
			require.Contains(t, w.srv.Trace(10), `< NodeCreated "/none"`)
			require.NotContains(t, w.srv.Trace(1), "/none")
			require.NotContains(t, w.srv.From("B").Trace(10), "A#", "only what the test has done to everybody")
			require.Empty(t, w.srv.From("B").Requests())
		})
	})

	t.Run("ForgetsTheOldest", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			for range 5000 {
				a.must(wire.OpPing, nil)
			}
			got := w.srv.Requests()
			require.Len(t, got, 4096)
			require.Equal(t, 5001, got[4095].N)
			for i := 1; i < len(got); i++ {
				require.Equal(t, got[i-1].N+1, got[i].N)
			}
		})
	})
}

func TestHooks(t *testing.T) {
	t.Run("AtRunsOnceBeforeFaultsLook", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			calls := 0
			w.srv.At(zktest.OpCreate, func(r zktest.Request) {
				calls++
				require.Equal(t, "/a", r.Path)
				require.False(t, w.srv.Exists("/a"))
				w.srv.DropRequest(zktest.OpCreate, 1)
			})
			a.send(wire.OpCreate, create("/a", "", 0, open...))
			a.gone()
			b := w.raw("B", long)
			b.must(wire.OpCreate, create("/a", "", 0, open...))
			require.Equal(t, 1, calls)
		})
	})

	t.Run("AtReplyRunsWhenTheRequestHasTakenEffect", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			w.srv.AtReply(zktest.OpCreate, func(r zktest.Request) {
				require.True(t, w.srv.Exists("/a"))
				require.True(t, r.Answered)
				w.srv.Freeze(zktest.ToClient)
			})
			a.send(wire.OpCreate, create("/a", "", 0, open...))
			w.silent(a, 10*time.Second)
		})
	})

	t.Run("HoldTheRequestWhileTheyBlock", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a, b := w.raw("A", long), w.raw("B", long)
			release := make(chan struct{})
			w.srv.For(a.session).At(zktest.OpCreate, func(zktest.Request) { <-release })
			a.send(wire.OpCreate, create("/a", "", 0, open...))
			b.must(wire.OpCreate, create("/b", "", 0, open...))
			require.False(t, w.srv.Exists("/a"))
			close(release)
			_, err := a.next()
			require.NoError(t, err)
			require.True(t, w.srv.Exists("/a"))
		})
	})

	t.Run("EndWhenStopped", func(t *testing.T) {
		inScene(t, func(w *scene) {
			a := w.raw("A", long)
			var seen []zktest.Op
			stop := w.srv.OnRequest(func(r zktest.Request) { seen = append(seen, r.Op) })
			stopReplies := w.srv.OnReply(func(r zktest.Request) { seen = append(seen, -r.Op) })
			a.must(wire.OpSync, onPath("/"))
			stop()
			stopReplies()
			stop()
			a.must(wire.OpSync, onPath("/"))
			require.Equal(t, []zktest.Op{zktest.OpSync, -zktest.OpSync}, seen)
		})
	})
}
