package zklock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
)

// A client library whose event channel is full drops events, that of the
// session's end among them: after many short interruptions a holder whose session
// had expired was never told. Ours hears of it whatever came before.
func TestTheLossIsReportedAfterAFlurryOfInterruptions(t *testing.T) {
	for claim, last := range map[string]struct {
		bring  func(s *scene, of *zktest.Target, session int64)
		reason []zklock.Reason
	}{
		"ExpiredWhileDisconnected": {
			func(s *scene, of *zktest.Target, session int64) {
				of.Refuse(true)
				of.Cut()
				require.NoError(s.T, s.Expire(session))
				of.Refuse(false)
			},
			[]zklock.Reason{zklock.SessionExpired},
		},
		"ExpiredAtAnyMoment": {
			func(s *scene, of *zktest.Target, session int64) {
				of.Cut()
				require.NoError(s.T, s.Expire(session))
			},
			// Connected again, it sees its node go first.
			[]zklock.Reason{zklock.SessionExpired, zklock.NodeDeleted},
		},
	} {
		t.Run(claim, func(t *testing.T) {
			everywhere(t, func(s *scene) {
				a, b := s.Dial("a"), s.Dial("b")
				h := s.lock(s.mutex(a), s.Timeout)
				next := s.locking(s.Ctx, s.mutex(b))
				session := s.Session(a)
				of := s.For(session)
				for range 20 {
					before := of.Count(zktest.OpCreateSession)
					of.Cut()
					s.Eventually(s.Timeout/2, func() bool { return of.Count(zktest.OpCreateSession) > before }, "a reconnect")
				}
				require.NoError(s.T, h.Context().Err(), "interruptions alone lose nothing")
				last.bring(s, of, session)
				require.Contains(s.T, last.reason, s.lost(h, s.Timeout/2).Reason)
				got := s.granted(next, s.Timeout)
				require.Positive(s.T, got.Token().Compare(h.Token()))
				require.NoError(s.T, got.Unlock(s.Ctx))
				again := s.lock(s.mutex(a), s.Timeout)
				require.Positive(s.T, again.Token().Compare(got.Token()))
				require.NoError(s.T, again.Unlock(s.Ctx))
			})
		})
	}
}

// contenders are clients that wait for one lock, each on a host of its own.
type contenders struct {
	s       *scene
	clients []*zkconn.Client
	waits   []*result // nil for the holder
}

func (s *scene) contend(n int) *contenders {
	c := &contenders{s: s}
	for i := range n {
		c.clients = append(c.clients, s.Dial(fmt.Sprintf("c%d", i)))
		c.waits = append(c.waits, s.locking(s.Ctx, s.mutex(c.clients[i])))
	}
	s.granted(c.waits[0], s.Timeout)
	return c
}

// creates counts, for each session, the contender nodes asked for after request
// number since.
func creates(f *zktest.Faults, since int) map[int64]int {
	count := make(map[int64]int)
	for _, r := range f.Requests() {
		if r.N > since && r.Op == zktest.OpCreate && strings.Contains(r.Path, "/_c_") {
			count[r.Session]++
		}
	}
	return count
}

func newest(f *zktest.Faults) int {
	all := f.Requests()
	return all[len(all)-1].N
}

// A leader stops, and all who waited behind it reconnect at the same moment.
// Recipes that begin anew on each reconnect delete and create their nodes, which
// wakes the others, who do the same: hundreds of creates for three candidates.
// Here a reconnect creates nothing, and a new session exactly one node.
func TestReconnectsAreNoStorm(t *testing.T) {
	for _, n := range []int{2, 3, 10} {
		for claim, c := range map[string]struct {
			bring   func(c *contenders)
			creates int // of each contender that stays
		}{
			"TheLeaderCloses":    {func(*contenders) {}, 0},
			"AllReconnectAtOnce": {func(c *contenders) { c.s.Cut() }, 0},
			"AllReconnectAgainAndAgain": {func(c *contenders) {
				for range 5 {
					c.s.Cut()
					c.s.Pass(c.s.Timeout / 8)
				}
			}, 0},
			"AllAreCutOffForAWhile": {func(c *contenders) {
				c.s.Refuse(true)
				c.s.Cut()
				c.s.Pass(c.s.Timeout / 3)
				c.s.Refuse(false)
			}, 0},
			"AllSessionsExpire": {func(c *contenders) { c.s.Operator.(*zktest.Server).ExpireAll() }, 1},
		} {
			t.Run(fmt.Sprintf("%s/%d", claim, n), func(t *testing.T) {
				virtually(t, func(s *scene) {
					all := s.contend(n)
					s.Pass(s.Timeout)
					since := newest(s.Faults)
					require.NoError(s.T, all.clients[0].Close(s.Ctx))
					c.bring(all)
					s.Pass(30 * time.Second)

					made := creates(s.Faults, since)
					for i, client := range all.clients[1:] {
						require.Equal(s.T, c.creates, made[s.Session(client)], "contender %d\n%s", i+1, s.Trace(100))
						delete(made, s.Session(client))
					}
					require.Empty(s.T, made, "creates of sessions that are gone")
					require.Len(s.T, s.Nodes(), n-1)
					work := 0
					for _, r := range s.Requests() {
						if r.N > since && r.Op != zktest.OpPing && r.Op != zktest.OpMulti && r.Op != zktest.OpCreateSession {
							work++
						}
					}
					require.LessOrEqual(s.T, work, 30*n, "%s", s.Trace(300))

					for _, wait := range all.waits[1:] {
						go func() {
							<-wait.done
							if wait.err == nil {
								_ = wait.hold.Unlock(s.Ctx)
							}
						}()
					}
					for _, wait := range all.waits[1:] {
						s.granted(wait, s.Timeout)
					}
				})
			})
		}
	}
}
