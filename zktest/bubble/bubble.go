package bubble

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// serverAddr is where the server listens in every bubble.
const serverAddr = "10.0.0.1:2181"

// traceTail is how many requests and events a failed test prints.
const traceTail = 60

// B is one bubble, inside which its server and network were made.
type B struct {
	// T is the bubble's own test: T.Cleanup, T.Context and require belong on it,
	// not on the test given to Run. T.Run, T.Parallel and T.Deadline panic.
	T      *testing.T
	Net    *zktest.Network
	Server *zktest.Server
	// Seed is the one in use.
	Seed uint64
}

// Run runs fn in a bubble with a server and a network, and takes all of it down
// inside the bubble. On a failure it prints the seed and the last requests and
// events that the server has seen.
func Run(t *testing.T, fn func(b *B), opts ...Option) {
	t.Helper()
	c := config{seed: 1, virtual: 30 * time.Minute, real: 5 * time.Minute}
	for _, o := range opts {
		o(&c)
	}
	if c.crypto {
		seedCrypto(t, c.seed)
	}
	// Made outside the bubble, or its clock would be the virtual one.
	stop := watchReal(t.Name(), c)
	defer stop()
	synctest.Test(t, func(t *testing.T) { run(t, fn, c) })
}

func run(t *testing.T, fn func(b *B), c config) {
	b := &B{T: t, Net: zktest.NewNetwork(c.seed), Seed: c.seed}
	l, err := b.Net.Listen(serverAddr)
	if err != nil {
		t.Fatalf("bubble: %v", err)
	}
	opts := append([]zktest.Option{zktest.WithSeed(c.seed)}, c.server...)
	b.Server, err = zktest.Start(append(opts, zktest.WithListener(l))...)
	if err != nil {
		b.Net.Close()
		t.Fatalf("bubble: %v", err)
	}
	w := b.watch(c.virtual)
	told, returned := false, false
	tell := func() {
		panicking := !returned && !t.Skipped()
		if (t.Failed() || panicking) && !told {
			told = true
			t.Log(b.report())
		}
	}
	// Cleanups run last one first, those of fn before these.
	t.Cleanup(tell)
	t.Cleanup(w.stop)
	t.Cleanup(b.Server.Close)
	t.Cleanup(b.Net.Close)
	defer func() {
		tell() // before the cleanups add their own requests
		b.Net.HealAll()
		b.Server.HealAll()
		b.Server.Stall(false)
	}()
	fn(b)
	returned = true
}

// Dialer returns what a client on the host of that name dials with; it has the
// type of go-zookeeper's Dialer.
func (b *B) Dialer(host string) func(network, address string, timeout time.Duration) (net.Conn, error) {
	return b.Net.Dialer(host)
}

// Servers returns the list of servers for a client: the one address.
func (b *B) Servers() []string { return []string{b.Server.Addr()} }

// Cleanup has fn run inside the bubble once the test's function is through: the
// last one first, with partitions healed, before network and server close.
// T.Cleanup does the same.
func (b *B) Cleanup(fn func()) { b.T.Cleanup(fn) }
