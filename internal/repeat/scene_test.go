package repeat_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkfence/zkfence/zktest"
	"github.com/zkfence/zkfence/zktest/bubble"
)

// length is how long a scenario lasts, in virtual time.
const length = 30 * time.Second

// hosts are where clients live.
var hosts = [...]string{"a", "b", "c", "d"}

// scene is one scenario in its bubble.
type scene struct {
	*bubble.B
	end time.Time

	clients sync.WaitGroup
}

// scenario starts clients and makes faults until the end. Its clients end with
// s.clients.
type scenario struct {
	run  func(s *scene)
	opts []bubble.Option
}

func scenarios() map[string]scenario {
	return map[string]scenario{
		"watches":  {run: func(s *scene) { watches(s); s.weather(everyFault) }},
		"locks":    {run: func(s *scene) { locks(s); s.weather(faultsForLocks) }},
		"ensemble": {run: func(s *scene) { locks(s); s.reign() }, opts: []bubble.Option{bubble.WithEnsemble(3)}},
	}
}

// play runs a scenario and returns its whole trace, server by server.
func play(t *testing.T, kind string, seed uint64) string {
	var traces []*strings.Builder
	sc := scenarios()[kind]
	bubble.Run(t, func(b *bubble.B) {
		servers := []*zktest.Server{b.Server}
		if b.Ensemble != nil {
			servers = b.Ensemble.Servers()
		}
		for _, server := range servers {
			trace := &strings.Builder{}
			traces = append(traces, trace)
			server.Follow(func(e zktest.Entry) {
				_, _ = fmt.Fprintf(trace, "%d %d %s\n", e.At, e.Took, e)
			})
		}
		s := &scene{B: b, end: time.Now().Add(length)}
		sc.run(s)
		s.clients.Wait()
		// go-zookeeper tosses a coin about what it still sends if it is closed in
		// the instant of a reconnect.
		time.Sleep(20 * time.Second)
	}, append(sc.opts, bubble.WithSeed(seed), bubble.WithSeededCrypto())...)
	var all strings.Builder
	for _, trace := range traces {
		all.WriteString(trace.String())
	}
	return all.String()
}

// chance returns a generator of its own for whoever is named, so that nobody's
// draws depend on when others draw.
func (s *scene) chance(name string) *rand.Rand {
	var n uint64
	for _, c := range name {
		n = n*31 + uint64(c)
	}
	return rand.New(rand.NewPCG(s.Seed, n))
}

// between returns a duration to the nanosecond: round ones would meet.
func between(r *rand.Rand, min, max time.Duration) time.Duration {
	return min + time.Duration(r.Int64N(int64(max-min)))
}
