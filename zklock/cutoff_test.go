package zklock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/stage"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// phases is in how many places between two proofs, two relays and two ticks the
// fault is made to fall.
const phases = 200

func everyPhase(t *testing.T, play func(t *testing.T, q quorum, wait func(holder *zkconn.Client))) {
	t.Helper()
	stage.InEveryPhase(t, phases, func(t *testing.T, q *stage.Quorum, wait func(*zkconn.Client)) { play(t, quorum{q}, wait) })
}

// A follower that its leader has lost answers pings, reads and even Syncs begun
// before, for as long as the sync limit lasts, while the leader gives its clients'
// nodes away.
func TestInEveryPhaseAFollowerCutOffFromItsQuorumIsNotBelieved(t *testing.T) {
	t.Run("TheHoldIsLostBeforeASuccessorExists", func(t *testing.T) {
		everyPhase(t, func(t *testing.T, q quorum, wait func(*zkconn.Client)) {
			leader := q.Leader()
			f := q.Except(leader)[0]
			a := q.Dial("a", f)
			h, err := q.mutex(a).Lock(q.Ctx)
			require.NoError(t, err)
			end := q.watch(h)
			b := q.queue(q.mutex(q.Dial("b", leader)))
			wait(a)
			require.Equal(t, zklock.Held, h.State())
			cut := time.Now()
			q.Ensemble.Isolate(f)
			q.succeeded(h, end, b)
			require.Less(t, b.at.Sub(cut), 2*stage.QuorumTimeout, "it was given away while the follower still served")
		})
	})

	t.Run("WithOtherServersToGoToItGoesThereAndKeepsTheSession", func(t *testing.T) {
		everyPhase(t, func(t *testing.T, q quorum, wait func(*zkconn.Client)) {
			leader := q.Leader()
			others := q.Except(leader)
			a := q.Dial("a", others[0], others[1], leader)
			h, err := q.mutex(a).Lock(q.Ctx)
			require.NoError(t, err)
			session := q.session(t, h)
			b := q.queue(q.mutex(q.Dial("b", leader)))
			wait(a)
			q.Ensemble.Isolate(others[0])
			time.Sleep(5 * stage.QuorumTimeout)
			require.Equal(t, zklock.Held, h.State())
			require.Equal(t, session, q.session(t, h))
			require.False(t, b.returned())
			require.NoError(t, h.Unlock(q.Ctx))
			q.Until(b.done, "the successor")
			require.NoError(t, b.err)
			require.Positive(t, b.hold.Token().Compare(h.Token()))
		})
	})
}

// A leader that its followers have left for another goes on answering reads,
// Syncs and handshakes for the sync limit and a tick, and its successor gives the
// nodes of its clients away meanwhile.
func TestInEveryPhaseALeaderDeposedWithoutKnowingIsNotBelieved(t *testing.T) {
	for claim, reconnect := range map[string]bool{"TheHoldIsLostBeforeASuccessorExists": false, "AlsoIfItLetsTheHolderComeBack": true} {
		t.Run(claim, func(t *testing.T) {
			everyPhase(t, func(t *testing.T, q quorum, wait func(*zkconn.Client)) {
				old := q.Leader()
				a := q.Dial("a", old)
				h, err := q.mutex(a).Lock(q.Ctx)
				require.NoError(t, err)
				end := q.watch(h)
				others := q.Except(old)
				b := q.queue(q.mutex(q.Dial("b", others[0], others[1])))
				wait(a)
				require.Equal(t, zklock.Held, h.State())
				deposed := time.Now()
				require.Same(t, old, q.Ensemble.Depose())
				if reconnect {
					time.Sleep(stage.QuorumTimeout / 3)
					before := old.From("a").Count(zktest.OpCreateSession)
					old.From("a").Cut()
					time.Sleep(stage.QuorumTimeout / 6)
					require.Greater(t, old.From("a").Count(zktest.OpCreateSession), before)
				}
				q.succeeded(h, end, b)
				require.Less(t, b.at.Sub(deposed), 3*stage.QuorumTimeout)
			})
		})
	}
}

// succeeded waits for the successor of a hold that is lost, and checks the order.
func (q quorum) succeeded(h *zklock.Hold, end *stage.Ending, b *result) {
	t := q.T
	t.Helper()
	q.Until(b.done, "the successor")
	require.NoError(t, b.err)
	select {
	case <-end.Done:
	default:
		require.FailNow(t, "two holders at once", "tokens %v and %v", h.Token(), b.hold.Token())
	}
	require.True(t, end.Alive, "the hold ended %v before the successor's began, but after its node was gone", b.at.Sub(end.At))
	require.True(t, end.At.Before(b.at))
	require.LessOrEqual(t, h.Remaining(), time.Duration(0))
	require.Positive(t, b.hold.Token().Compare(h.Token()))
	require.NoError(t, b.hold.Unlock(q.Ctx))
}

func (q quorum) session(t *testing.T, h *zklock.Hold) string {
	t.Helper()
	require.NoError(t, h.Context().Err())
	return fmt.Sprint(h.Internal().Session.ID())
}
