package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// A client asks for a session of a minute and is granted four seconds. One that
// counts what it asked for believes in its lock for most of a minute after the
// server has given it away.
func TestTheGrantedTimeoutCountsNotTheOneAskedFor(t *testing.T) {
	const granted = 4 * time.Second
	virtually(t, func(s *scene) {
		s.Timeout = granted
		o := s.standoff("a", "b", zkconn.WithSessionTimeout(time.Minute))
		require.LessOrEqual(s.T, o.hold.Remaining(), granted)
		require.ErrorIs(s.T, o.hold.Ready(s.Ctx, granted+1), zklock.ErrTooLong)
		s.Pass(3 * granted)
		begun := time.Now()
		o.of.Freeze(zktest.BothWays)
		require.NoError(s.T, o.play(4*granted))
		require.Less(s.T, o.lostAt.Sub(begun), granted)
		require.True(s.T, o.stood)
		o.of.Unfreeze()
		require.NoError(s.T, o.late())
	}, bubble.WithServer(zktest.WithSessionTimeouts(400*time.Millisecond, granted)))
}
