package zktest_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/internal/wire"
	"github.com/zkfence/zkfence/zktest"
)

func TestEnsembleOperator(t *testing.T) {
	// What the leader does with the order comes after its answer: with the race
	// detector this showed that it wrote into what the caller had been given.
	t.Run("IsToldOnceThatTheServerIsGone", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			require.NoError(q, q.srv[0].Create("/n", nil))
			type result struct {
				n   int
				err error
			}
			results := make(chan result)
			go func() {
				n := q.srv[0].ReapContainers()
				results <- result{n, nil}
			}()
			go func() {
				err := q.srv[0].Delete("/none")
				results <- result{0, err}
			}()
			time.Sleep(10 * time.Millisecond)
			q.ens.Kill(q.srv[0])
			for range 2 {
				r := <-results
				require.Zero(q, r.n)
				if r.err != nil {
					require.ErrorIs(q, r.err, zktest.ErrNotServing)
				}
			}
			q.settle()
		}, zktest.WithPeerDelay(50*time.Millisecond, 60*time.Millisecond))
	})

	t.Run("LagsAServerForEver", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			q.ens.Lag(q.srv[0], math.MaxInt64)
			require.NoError(q, q.srv[2].Create("/n", nil))
			time.Sleep(time.Hour)
			require.True(q, q.srv[1].Exists("/n"))
			require.False(q, q.srv[0].Exists("/n"))
			q.ens.Heal()
			q.settle()
			require.True(q, q.srv[0].Exists("/n"))
		})
	})

	t.Run("LetsAServerCatchUpQuickly", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			const n = 5000
			c := q.raw(q.srv[2], "A", long)
			q.ens.Lag(q.srv[0], time.Hour)
			for range n {
				c.send(wire.OpSetData, setData("/", "", -1))
			}
			c.must(wire.OpExists, watched("/", false))
			time.Sleep(time.Second)
			require.Less(q, q.srv[0].Zxid(), q.srv[2].Zxid()-n/2)
			q.ens.Lag(q.srv[0], 0)
			q.settle()
			require.Equal(q, q.srv[2].Zxid(), q.srv[0].Zxid())
		})
	})

	t.Run("DeposesALeaderWhileAFollowerIsStopped", func(t *testing.T) {
		inQuorum(t, func(q *quorum) {
			c := q.raw(q.srv[0], "A", long)
			q.srv[0].Stall(true)
			require.Same(q, q.srv[2], q.ens.Depose())
			q.silent(c, time.Second)
			q.srv[0].Stall(false)
			c.gone()
		})
	})
}
