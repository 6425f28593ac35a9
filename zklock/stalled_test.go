package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// The holder has lost by its own clock while the ensemble still counts its session
// as alive. A client that leaves it at that keeps the lock from everybody: its
// pings, or requests that arrive late, keep a session going whose holder does not
// hold. So the session is closed by its own client, and the next in line has the
// lock at once, with no time-out in between.
func TestASessionLostByOurClockIsClosedSoTheNextHoldsAtOnce(t *testing.T) {
	for claim, c := range map[string]struct {
		begin, end func(o *takeover) // end is called when the holder has lost
	}{
		// What the client sends arrives and keeps its session alive, and it hears
		// nothing, so no proof reaches it.
		"ItOnlyCannotHear": {
			func(o *takeover) { o.of.Freeze(zktest.ToClient) },
			func(*takeover) {},
		},
		// The way to the server stands still, and the connection with it, until just
		// after the loss: then what was sent before arrives, and the server counts a
		// whole timeout from there. It is what a leader that stalls looks like.
		"TheWayIsFreeAgainJustAfterTheLoss": {
			func(o *takeover) { o.of.Freeze(zktest.BothWays) },
			func(o *takeover) { o.of.Unfreeze() },
		},
		// Each of its reconnects touches the session, and none gets through.
		"ItsHandshakesAreHalfAnswered": {
			func(o *takeover) { o.of.HalfHandshake(true); o.of.Cut() },
			func(o *takeover) { o.of.HalfHandshake(false) },
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				o := s.standoff("a", "b")
				s.Pass(s.Timeout / 2)
				c.begin(o)
				require.Equal(s.T, zklock.TrustRanOut, o.lost(s.Timeout))
				c.end(o)
				s.Ended(o.won, s.Timeout/2, "the waiter does not hold at once")
				require.NoError(s.T, o.err)
				require.True(s.T, o.over, "the holder was told first")
				require.NoError(s.T, o.resource.Write(s.Ctx, o.next.Next()))
				require.NoError(s.T, o.late())
				s.closedNotExpired(o)
			})
		})
	}
}

// The leader itself stalls for a whole session timeout, in which nothing expires
// because nothing happens at all, and goes on.
func TestAfterALeadersStallTheNextHoldsAtOnce(t *testing.T) {
	virtually(t, func(s *scene) {
		o := s.standoff("a", "b")
		s.Pass(s.Timeout / 2)
		server := s.Operator.(*zktest.Server)
		server.Stall(true)
		s.Pass(s.Timeout)
		require.Equal(s.T, zklock.TrustRanOut, o.lost(s.Timeout))
		server.Stall(false)
		s.Ended(o.won, s.Timeout/2, "the waiter does not hold at once")
		require.NoError(s.T, o.err)
		require.True(s.T, o.lostAt.Before(o.wonAt))
		require.NoError(s.T, o.resource.Write(s.Ctx, o.next.Next()))
		require.NoError(s.T, o.late())
	})
}

// closedNotExpired makes sure that the case has been what it is about: less than a
// session timeout lies between the last that the server can have heard of the old
// session, its goodbye apart, and the proof of the next holder.
func (s *scene) closedNotExpired(o *takeover) {
	s.T.Helper()
	var heard, proven time.Duration
	closed := false
	next := s.Session(o.waiter)
	for _, r := range s.Requests() {
		switch {
		case r.Session == o.session && r.Op == zktest.OpCloseSession:
			closed = true
		case r.Session == o.session && !closed:
			heard = r.At
		case r.Session == next && r.Op == zktest.OpMulti && proven == 0:
			proven = r.At
		}
	}
	require.True(s.T, closed, "%s", s.Trace(60))
	require.Less(s.T, proven-heard, s.Timeout, "%s", s.Trace(60))
}
