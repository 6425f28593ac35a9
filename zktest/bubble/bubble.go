package bubble

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkfence/zkfence/zktest"
)

// serverAddr is where a server listens in every bubble; the numbers of its hosts
// are counted on from 1. It is an address for documentation (RFC 5737), which no
// machine has: a client without B.Dialer dials it for real.
const serverAddr = "192.0.2.%d:2181"

// B is one bubble, inside which its server and network were made.
type B struct {
	// T is the bubble's own test: T.Cleanup, T.Context and require belong on it,
	// not on the test given to Run. T.Run, T.Parallel and T.Deadline panic.
	T      *testing.T
	Net    *zktest.Network
	Server *zktest.Server // of an ensemble the first
	// Ensemble is nil unless WithEnsemble is given.
	Ensemble *zktest.Ensemble
	// Seed is the one in use.
	Seed uint64
}

// Run runs fn in a bubble with a server and a network, and takes all of it down
// inside the bubble. When the test fails, also later on or by a panic of fn or of
// synctest, it prints the seed, how to run the test again with it, and the end of
// the server's trace; a panic on another goroutine of fn's leaves no time for that.
func Run(t *testing.T, fn func(b *B), opts ...Option) {
	t.Helper()
	if fn == nil {
		t.Fatal("bubble: Run: the function is nil")
	}
	c, err := configured(opts)
	if err != nil {
		t.Fatalf("bubble: %v", err)
	}
	if c.seed, err = overridden(c.seed); err != nil {
		t.Fatalf("bubble: %v", err)
	}
	if c.crypto {
		seedCrypto(t, c.seed)
	}
	// Made outside the bubble, or its clock would be the virtual one.
	stop := watchReal(t.Name(), c)
	defer stop()
	o := &outcome{outer: t, before: t.Failed()}
	t.Cleanup(o.tellLate)
	defer o.burst()
	synctest.Test(t, func(t *testing.T) { run(t, fn, c, o) })
}

func run(t *testing.T, fn func(b *B), c config, o *outcome) {
	b := &B{T: t, Net: zktest.NewNetwork(c.seed), Seed: c.seed}
	if err := b.start(c); err != nil {
		b.Net.Close()
		t.Fatalf("bubble: %v", err)
	}
	w := b.watch(c.virtual)
	o.b = b
	// Cleanups run last one first, those of fn before these.
	t.Cleanup(func() { o.cleaned = true })
	t.Cleanup(o.tell)
	t.Cleanup(w.stop)
	if b.Ensemble != nil {
		t.Cleanup(b.Ensemble.Close)
	} else {
		t.Cleanup(b.Server.Close)
	}
	t.Cleanup(b.Net.Close)
	defer o.end()
	fn(b)
}

// start starts the server, or the servers of an ensemble.
func (b *B) start(c config) error {
	listeners := make([]net.Listener, max(1, c.ensemble))
	for i := range listeners {
		l, err := b.Net.Listen(fmt.Sprintf(serverAddr, i+1))
		if err != nil {
			return err
		}
		listeners[i] = l
	}
	opts := append([]zktest.Option{zktest.WithSeed(c.seed)}, c.server...)
	var err error
	if c.ensemble == 0 {
		b.Server, err = zktest.Start(append(opts, zktest.WithListener(listeners[0]))...)
		return err
	}
	b.Ensemble, err = zktest.StartEnsemble(c.ensemble, append(opts, zktest.WithListeners(listeners...))...)
	if err == nil {
		b.Server = b.Ensemble.Servers()[0]
	}
	return err
}

// heal takes back what is broken, so that clients can end in peace.
func (b *B) heal() {
	b.Net.HealAll()
	if b.Ensemble != nil {
		b.Ensemble.HealAll()
		return
	}
	b.Server.HealAll()
	b.Server.Stall(false)
}

func (b *B) servers() []*zktest.Server {
	if b.Ensemble != nil {
		return b.Ensemble.Servers()
	}
	return []*zktest.Server{b.Server}
}

// Dialer returns what a client on the host of that name dials with; it has the
// type of go-zookeeper's Dialer. A client that is not given it leaves the bubble:
// its dials are real ones, to an address that no machine has, and while one lasts
// the clock stands.
func (b *B) Dialer(host string) func(network, address string, timeout time.Duration) (net.Conn, error) {
	d := &dialer{seed: b.Seed, host: label(host), dial: b.Net.Dialer(host), parties: map[invitation]*party{}}
	return d.Dial
}

// Servers returns the list of servers for a client: the one address, or those
// of the ensemble, in the order of their numbers.
func (b *B) Servers() []string {
	var out []string
	for _, s := range b.servers() {
		out = append(out, s.Addr())
	}
	return out
}

// Cleanup has fn run inside the bubble once the test's function is through: the
// last one first, with partitions healed, before network and server close.
// T.Cleanup does the same.
func (b *B) Cleanup(fn func()) { b.T.Cleanup(fn) }
