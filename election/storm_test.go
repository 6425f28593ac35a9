package election_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/election"
	"github.com/zkfence/zkfence/zkconn"
	"github.com/zkfence/zkfence/zktest"
)

// A leader stops, and all standbys reconnect at the same moment. Elections that
// begin anew on each reconnect delete and create their nodes, which wakes the
// others, who do the same: hundreds of creates for three candidates. Here a
// reconnect creates nothing, and a new session exactly one node.
func TestReconnectsAreNoStorm(t *testing.T) {
	type field struct {
		*scene
		clients []*zkconn.Client
	}
	for _, n := range []int{2, 3, 10} {
		for claim, c := range map[string]struct {
			bring   func(f field)
			creates int // of each candidate that stays
		}{
			"TheLeaderCloses":    {func(field) {}, 0},
			"AllReconnectAtOnce": {func(f field) { f.Cut() }, 0},
			"AllReconnectAgainAndAgain": {func(f field) {
				for range 5 {
					f.Cut()
					f.Pass(f.Timeout / 8)
				}
			}, 0},
			"AllAreCutOffForAWhile": {func(f field) {
				f.Refuse(true)
				f.Cut()
				f.Pass(f.Timeout / 3)
				f.Refuse(false)
			}, 0},
			"AllSessionsExpire": {func(f field) { f.server().ExpireAll() }, 1},
		} {
			t.Run(fmt.Sprintf("%s/%d", claim, n), func(t *testing.T) {
				virtually(t, func(s *scene) {
					f := field{scene: s}
					var leads journal[string]
					ctx, cancel := context.WithCancel(s.Ctx)
					done := make(chan struct{}, n)
					for i := range n {
						host := fmt.Sprint("c", i)
						c, e := s.candidate(host)
						f.clients = append(f.clients, c)
						go func() {
							_ = e.Run(ctx, func(ctx context.Context, _ *election.Term) error {
								leads.write(host)
								<-ctx.Done()
								return nil
							})
							done <- struct{}{}
						}()
						s.settle()
					}
					s.Pass(s.Timeout)
					require.Equal(s.T, []string{"c0"}, leads.read())
					since := s.mark()
					require.NoError(s.T, f.clients[0].Close(s.Ctx))
					c.bring(f)
					s.Pass(30 * time.Second)

					made := make(map[int64]int)
					for _, r := range s.Requests() {
						if r.N > since && r.Op == zktest.OpCreate && strings.Contains(r.Path, "/_c_") {
							made[r.Session]++
						}
					}
					for i, client := range f.clients[1:] {
						require.Equal(s.T, c.creates, made[s.Session(client)], "candidate %d\n%s", i+1, s.Trace(100))
						delete(made, s.Session(client))
					}
					require.Empty(s.T, made, "creates of sessions that are gone")
					require.Len(s.T, s.Nodes(), n-1)
					require.GreaterOrEqual(s.T, len(leads.read()), 2, "somebody leads")
					cancel()
					for range n {
						<-done
					}
				})
			})
		}
	}
}
