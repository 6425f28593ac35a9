//go:build linux

package story_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/integration/history"
	"github.com/zkfence/zkfence/integration/worker"
	"github.com/zkfence/zkfence/zktest"
)

// Sequence 5, within one session: W1 lets go and locks again while its release is
// still on its way, or while it has to be sent once more, since nobody knows that
// it has arrived. The session is the same and so is its owner; only the node's name
// tells the old hold from the new.
func TestALateReleaseHarmsNoLaterHoldOfItsSession(t *testing.T) {
	for name, delay := range map[string]func(*zktest.Proxy) (arrives func(*story)){
		"Frozen": func(p *zktest.Proxy) func(*story) {
			closed := make(chan struct{}, 100)
			p.Freeze(zktest.ToServer)
			return func(s *story) {
				require.NotZero(s.t, p.Count(zktest.OpDelete), "the release is on its way")
				defer p.Follow(func(e zktest.Entry) {
					if e.Kind == zktest.Closed {
						closed <- struct{}{}
					}
				})()
				p.Unfreeze()
				select {
				case <-closed: // the connection that it came by has ended behind it
				case <-s.within().Done():
					require.Fail(s.t, "the late release is still under way")
				}
			}
		},
		"ReplyLost": func(p *zktest.Proxy) func(*story) {
			p.DropReply(zktest.OpDelete, 1)
			return func(s *story) { require.Zero(s.t, p.Pending(), "a reply has been lost") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, shared.Three(t), 10*time.Second, true)
			route := s.ens.Route(t)
			w1 := s.start("W1", route.Addrs()...)
			s.must(w1, worker.Lock)
			require.True(t, s.must(w1, worker.Write, "first").OK)
			session := s.sessionOf(s.await(0, "W1", history.Granted))
			var used *zktest.Proxy
			for i := range s.ens.Servers() {
				if p := route.Proxy(i + 1); p.Count(zktest.AnyCreate) > 0 {
					used = p
				}
			}

			s.fault(history.Fault, "late release", "W1")
			arrives := delay(used)
			release := s.begin(w1, worker.LetGo)
			s.await(0, "W1", history.Unlocking)
			from := s.log.Len()
			s.must(w1, worker.Lock)
			again := s.await(from, "W1", history.Granted)
			require.Equal(t, session, s.sessionOf(again))
			require.True(t, s.must(w1, worker.Write, "again").OK)
			arrives(s)
			_, err := release.Wait(s.within())
			require.NoError(t, err)
			require.Greater(t, count(s, route, zktest.OpDelete), 1, "sent once more")
			s.fault(history.Healed, "late release", "W1")

			require.Equal(t, session, s.sessionOf(again), "its node is there")
			require.True(t, s.must(w1, worker.Write, "still").OK)
			s.must(w1, worker.Unlock)
			s.ended()
			require.Zero(t, s.count("W1", history.Lost))
			require.Equal(t, 2, s.count("W1", history.Granted))
			require.Len(t, s.accepted(), 3)
		})
	}
}
