package zktest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"time"
)

// Ensemble is several servers that agree on one log of transactions, as a
// ZooKeeper ensemble does. Each of Servers serves clients at an address of its
// own and has its own Faults; what breaks between servers are methods of the
// Ensemble. All methods are safe for concurrent use.
type Ensemble struct {
	group    *group
	servers  []*Server
	delay    span
	election span
	limit    int // of silence, in ticks

	// The group's mutex guards the rest.
	agenda  *agenda
	members []*member
	links   map[[2]int]*peerLink
	rng     *rand.Rand
	changed chan struct{} // closed and replaced whenever a server's part changes
	closed  bool
}

// NewEnsemble starts an ensemble of n servers for a test and closes it when the
// test ends. It fails the test if it cannot start.
//
// What happens between servers follows from WithSeed and from when they are asked
// for what. It repeats in virtual time alone, and if every client is given one
// address, or does not shuffle them: which server go-zookeeper comes to is chance
// otherwise. Package bubble has all the conditions.
func NewEnsemble(tb TB, n int, opts ...Option) *Ensemble {
	tb.Helper()
	e, err := StartEnsemble(n, opts...)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(e.Close)
	return e
}

// StartEnsemble starts n servers, each on a free port of 127.0.0.1 or on its
// listener of WithListeners; the other options hold for every server. They serve
// at once, the last one leads, and the epoch is 1. The error names an option
// that makes no sense, or says why there is no port.
func StartEnsemble(n int, opts ...Option) (*Ensemble, error) {
	c, err := configured(opts)
	if err != nil {
		return nil, err
	}
	if err := c.checkEnsemble(n); err != nil {
		return nil, err
	}
	for len(c.listeners) < n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			for _, l := range c.listeners {
				_ = l.Close() // the other error counts
			}
			return nil, fmt.Errorf("zktest: %w", err)
		}
		c.listeners = append(c.listeners, ln)
	}
	g := newGroup(c.listeners[0].Addr().String(), c.seed)
	e := &Ensemble{
		group: g, delay: c.peerDelay, election: c.election, limit: c.syncLimit,
		agenda: newAgenda(g), links: map[[2]int]*peerLink{},
		rng: seeded(c.seed, "elections"), changed: make(chan struct{}),
	}
	g.act = e.agenda.act
	for i, ln := range c.listeners {
		m := &member{
			e: e, id: i + 1, touched: map[int64]time.Duration{}, waiting: map[uint64]*errand{},
			apply: lateQueue{rng: seeded(c.seed, fmt.Sprintf("lateness of %d", i+1)), delay: c.applyDelay},
		}
		m.s = newServer(g, c, ln)
		m.s.member = m
		e.members = append(e.members, m)
		e.servers = append(e.servers, m.s)
	}
	for _, from := range e.members {
		for _, to := range e.members {
			e.links[[2]int{from.id, to.id}] = &peerLink{e: e, to: to, rng: seeded(c.seed, fmt.Sprintf("link %d %d", from.id, to.id))}
		}
	}
	g.mu.Lock()
	e.begin()
	g.unlock()
	g.start()
	for _, s := range e.servers {
		s.start()
	}
	return e, nil
}

// begin puts the servers where an ensemble is some time after its start.
func (e *Ensemble) begin() {
	l := e.members[len(e.members)-1]
	l.role, l.accepted, l.current = leading, 1, 1
	l.lead = &leadership{epoch: 1, zxid: 1 << 32}
	l.rule()
	for _, f := range e.members[:len(e.members)-1] {
		f.role, f.accepted, f.current = following, 1, 1
		f.bond = e.newBond(l, f, 1)
		f.bond.synced = true
		f.bond.settle(l)
		f.bond.settle(f)
		l.lead.bonds = append(l.lead.bonds, f.bond)
		f.serving = true
	}
}

// Servers returns the servers, always in the same order.
func (e *Ensemble) Servers() []*Server { return append([]*Server(nil), e.servers...) }

// Addrs returns the addresses to dial, in the order of Servers.
func (e *Ensemble) Addrs() []string {
	var out []string
	for _, s := range e.servers {
		out = append(out, s.addr)
	}
	return out
}

// Leader returns the server that leads: that could commit a write now, because
// a majority follows it and nothing is broken between them. It is nil while
// there is none. A server that has lost its majority and does not know so yet
// is not the leader, although it still answers clients as one.
func (e *Ensemble) Leader() *Server {
	e.group.mu.Lock()
	defer e.group.unlock()
	return e.leader()
}

func (e *Ensemble) leader() *Server {
	for _, l := range e.members {
		if l.lead == nil || !l.serving || l.s.stalled != nil {
			continue
		}
		n := 1
		for _, b := range l.lead.bonds {
			if f := b.follower; f.bond == b && f.serving && e.joined(l, f) {
				n++
			}
		}
		if e.majority(n) {
			return l.s
		}
	}
	return nil
}

// AwaitLeader waits until there is a leader and returns it. The error is ctx's
// cause, or net.ErrClosed once the ensemble is closed.
func (e *Ensemble) AwaitLeader(ctx context.Context) (*Server, error) {
	for {
		e.group.mu.Lock()
		l, changed, closed := e.leader(), e.changed, e.closed
		e.group.unlock()
		switch {
		case closed:
			return nil, fmt.Errorf("zktest: await leader: %w", net.ErrClosed)
		case l != nil:
			return l, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("zktest: await leader: %w", context.Cause(ctx))
		}
	}
}

// announce wakes those who wait for a change.
func (e *Ensemble) announce() {
	e.group.told = append(e.group.told, e.changed)
	e.changed = make(chan struct{})
}

// Close ends every server, as Server.Close does, and waits for it. Close again
// waits as well.
func (e *Ensemble) Close() {
	e.group.mu.Lock()
	first := !e.closed
	e.closed = true
	for _, m := range e.members {
		m.forsake()
	}
	e.announce()
	e.group.unlock()
	if first {
		e.group.end()
	}
	for _, s := range e.servers {
		s.shutDown()
	}
	for _, s := range e.servers {
		s.wg.Wait()
	}
	e.group.keeps.Wait()
}

func (e *Ensemble) link(from, to *member) *peerLink { return e.links[[2]int{from.id, to.id}] }

// syncLimit is how long the end of a bond may be silent.
func (e *Ensemble) syncLimit() time.Duration { return time.Duration(e.limit) * e.servers[0].tick }

// initLimit is the same until both are in step.
func (e *Ensemble) initLimit() time.Duration { return 2 * e.syncLimit() }

// wipe makes all servers empty ones that have never had a leader.
func (e *Ensemble) wipe() {
	for _, m := range e.members {
		to := looking
		if m.role == down {
			to = down
		}
		m.become(to)
		m.s.reset()
		m.accepted, m.current, m.known, m.applied, m.log = 0, 0, 0, 0, txnLog{}
	}
	e.reconsider()
}
