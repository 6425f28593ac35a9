package zklock_test

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkfence/zkfence/zklock"
	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// A lock path that has been used two thousand million times. The parent's counter
// ends: since ZooKeeper 3.6 every later child gets the number 2147483647, before
// that the numbers went on with -2147483648. Whoever sorts by them lets several
// holders in at once, or whoever came last.
func TestTheEndOfTheSequenceChangesNothing(t *testing.T) {
	const clients, rounds = 5, 4
	for counter, opts := range map[string][]zktest.Option{"Sticking": nil, "Wrapping": {zktest.WithLegacySequence()}} {
		for claim, atATime := range map[string]int{"TwoAtATime": 2, "AllAtOnce": clients} {
			t.Run(counter+"/"+claim, func(t *testing.T) {
				virtually(t, func(s *scene) {
					server := s.Operator.(*zktest.Server)
					require.NoError(s.T, s.Operator.Create(s.Path, nil))
					require.NoError(s.T, server.SetSequence(s.Path, math.MaxInt32-2))

					// Who came when is the order in which the server made the nodes.
					var mu sync.Mutex
					var came []string
					known := map[string]bool{}
					s.OnReply(func(r zktest.Request) {
						if r.Op != zktest.OpCreate {
							return
						}
						mu.Lock()
						defer mu.Unlock()
						for _, child := range s.Nodes() {
							if path := s.Path + "/" + child; !known[path] {
								known[path] = true
								came = append(came, path)
							}
						}
					})

					var ms []*zklock.Mutex
					for i := range clients {
						ms = append(ms, s.mutex(s.Dial(fmt.Sprint("c", i))))
					}
					var wg sync.WaitGroup
					var holders atomic.Int32
					var served []string
					file := s.protects()
					places := make(chan struct{}, atATime)
					for _, m := range ms {
						wg.Go(func() {
							for range rounds {
								places <- struct{}{}
								h, err := m.Lock(s.Ctx)
								if err != nil {
									s.T.Error(err)
									return
								}
								if n := holders.Add(1); n != 1 {
									s.T.Errorf("%d holders", n)
								}
								if err := file.Write(s.Ctx, h.Next()); err != nil {
									s.T.Errorf("the only holder is refused: %v", err)
								}
								mu.Lock()
								served = append(served, h.Internal().Node)
								mu.Unlock()
								s.Pass(50 * time.Millisecond) // the next ones queue up
								holders.Add(-1)
								if err := h.Unlock(s.Ctx); err != nil {
									s.T.Error(err)
								}
								<-places
							}
						})
					}
					wg.Wait()
					require.NoError(s.T, file.Broken(), "tokens rise in the order of the grants")
					require.Len(s.T, served, clients*rounds)
					require.Equal(s.T, came, served, "first come, first served")
					numbers := map[string]int{}
					for _, node := range served {
						numbers[node[len(node)-len("-2147483648"):]]++
					}
					if counter == "Sticking" {
						require.Equal(s.T, clients*rounds-2, numbers["-2147483647"], "after the dash of lock-")
					} else {
						require.Equal(s.T, 1, numbers["-2147483648"])
					}
				}, bubble.WithServer(opts...))
			})
		}
	}
}
