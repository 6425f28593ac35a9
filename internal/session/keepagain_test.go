package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A session that has rested is kept, let go and kept again while the first proof
// is on its way: that proof is young, however old the last answered one is.
func TestKeepingAgainDoesNotAgeAProofThatIsOnItsWay(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		time.Sleep(time.Minute)
		release := s.Keep()
		synctest.Wait() // the proof has been sent, its answer takes longer
		release()
		release = s.Keep()
		time.Sleep(testTimeout)
		conns, _ := s.Connection()
		require.Equal(b, uint64(1), conns, "a connection in good health was given up")
		release()
		b.close(c)
	})
}

// A process is stopped right after Keep, before its monitor has run: what was
// trusted then has run out when it wakes up, and the session with it.
func TestKeepingATrustedSessionBindsAtOnce(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, s.Prove(b.Context(), "/"))
		require.Positive(b, s.Remaining())
		s.mu.Lock()
		s.keep(s.now())
		s.mu.Unlock()
		time.Sleep(testTimeout)
		require.Equal(b, TrustRanOut, s.Ended())
		b.close(c)
	})
}

// A hold is told by the clock that the session is over and lets go of it before
// the monitor has run: over it stays.
func TestLettingGoDoesNotBringAnEndedSessionBack(t *testing.T) {
	virtually(t, func(b *bench) {
		c := b.dial("a")
		s := b.session(c)
		require.NoError(b, s.Prove(b.Context(), "/"))
		s.mu.Lock()
		s.keep(s.now())
		s.armed = true
		s.mu.Unlock()
		time.Sleep(s.Remaining() + time.Millisecond) // no answer comes either
		require.Equal(b, TrustRanOut, s.Ended())
		s.letGo(nil)
		require.Equal(b, TrustRanOut, s.Ended())
		b.lostWithin(s, time.Second, TrustRanOut)
		b.close(c)
	})
}
