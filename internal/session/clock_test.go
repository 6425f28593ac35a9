package session

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zktest"
)

// clock is what a machine says about its own sleep. A wall clock that is stepped
// by hand looks like that where there is no better clock to ask.
type clock struct{ asleep atomic.Int64 }

func (c *clock) step(d time.Duration) { c.asleep.Add(int64(d)) }

func (c *clock) config(cfg *Config) {
	cfg.slept = func(time.Time) time.Duration { return time.Duration(c.asleep.Load()) }
}

// Somebody sets the clock an hour forward or back. Trust is counted on the
// monotonic clock and nothing is lost; the session is suspect until its next
// proof, because the machine may have slept as well.
func TestAStepOfTheWallClockIsAMomentOfSuspect(t *testing.T) {
	for claim, step := range map[string]time.Duration{"Forward": time.Hour, "Back": -time.Hour} {
		t.Run(claim, func(t *testing.T) {
			virtually(t, func(b *bench) {
				var wall clock
				c := b.dial("a", wall.config)
				s := b.session(c)
				require.NoError(b, b.server.Create("/held", nil))
				require.NoError(b, s.Prove(b.Context(), "/held"))
				claim, ok := s.Claim("/held", func(r Reason) { b.Errorf("lost: %v", r) })
				require.True(b, ok)
				time.Sleep(2*testTimeout + 50*time.Millisecond)
				require.False(b, s.Suspect())
				turns, _ := s.Suspicion()
				left := s.Remaining()

				wall.step(step)
				require.True(b, s.Suspect())
				require.Zero(b, s.Remaining(), "below 0 a hold would take it for its end")
				time.Sleep(testTimeout/8 + 20*time.Millisecond)
				require.False(b, s.Suspect(), "the next proof heals")
				require.InDelta(b, left, s.Remaining(), float64(testTimeout/8))
				n, _ := s.Suspicion()
				require.LessOrEqual(b, n-turns, uint64(2))

				time.Sleep(2 * testTimeout)
				wall.step(-step)
				require.True(b, s.Suspect())
				time.Sleep(testTimeout / 4)
				require.False(b, s.Suspect())
				require.NoError(b, s.Err())
				claim.Release()
				b.close(c)
			})
		})
	}
}

// A step in the middle of an outage moves the end of the session by nothing.
func TestAStepOfTheWallClockMovesNoDeadline(t *testing.T) {
	lostAfter := func(step time.Duration) (took time.Duration) {
		virtually(t, func(b *bench) {
			var wall clock
			s := b.session(b.dial("a", wall.config))
			defer s.Keep()()
			time.Sleep(2 * testTimeout)
			require.Positive(b, s.Remaining())
			begun := time.Now()
			b.server.For(s.ID()).Freeze(zktest.BothWays)
			time.Sleep(testTimeout / 4)
			wall.step(step)
			synctest.Wait()
			require.NoError(b, s.Err())
			b.lostWithin(s, testTimeout, TrustRanOut)
			took = time.Since(begun)
			b.server.Heal()
		})
		return took
	}
	undisturbed := lostAfter(0)
	require.Less(t, undisturbed, testTimeout)
	for _, step := range []time.Duration{time.Hour, -time.Hour} {
		require.Equal(t, undisturbed, lostAfter(step), "step of %v", step)
	}
}
