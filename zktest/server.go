package zktest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// TB is what New needs of a *testing.T or *testing.B.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Server is a ZooKeeper in memory: a standalone server, or one of an Ensemble.
// All its methods, those of Faults included, are safe for concurrent use.
//
// What a method of an ensemble's server tells of the state is that server's own
// view, which can be late. What a method changes goes through the leader, as a
// client's writes do: it returns once this server has applied it, or with
// ErrNotServing if the server has no leader, or loses it meanwhile.
type Server struct {
	*Faults
	*group
	member *member // nil on a standalone server

	ln   net.Listener
	addr string

	tick, minTimeout, maxTimeout time.Duration
	reapEvery                    time.Duration
	legacy                       bool

	wg   sync.WaitGroup
	done chan struct{}

	mu *sync.Mutex // the group's; it guards everything below

	closed bool
	rand   *rand.Rand
	state
	ahead        *state             // as it will be once all that was judged is applied; nil where nothing is judged
	tracker      map[int64]*tracked // the sessions that this server may end; nil if it may not
	attached     map[int64]*conn    // by session: the connection that it came to this server on last
	dataWatches  *watchTable
	childWatches *watchTable
	conns        map[*conn]struct{}
	received     int64
	sent         int64
	thiefID      int64

	stalled   chan struct{} // non-nil while stalled; closed at the end of it
	stoppedAt time.Duration
	lost      time.Duration // time spent stalled
	reapDue   time.Duration
}

// New starts a Server for a test and closes it when the test ends. It fails the
// test if it cannot start.
func New(tb TB, opts ...Option) *Server {
	tb.Helper()
	s, err := Start(opts...)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(s.Close)
	return s
}

// Start starts a Server on a free port of 127.0.0.1, or on the listener given.
// The error names an option that makes no sense, or says why there is no port.
func Start(opts ...Option) (*Server, error) {
	c, err := configured(opts)
	if err != nil {
		return nil, err
	}
	if c.ensembleOnly != "" {
		return nil, fmt.Errorf("zktest: %s is for an ensemble, and this is one server", c.ensembleOnly)
	}
	if err := c.check(); err != nil {
		return nil, err
	}
	if c.listener == nil {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("zktest: %w", err)
		}
		c.listener = ln
	}
	g := newGroup(c.listener.Addr().String(), c.seed)
	s := newServer(g, c, c.listener)
	g.act = s.act
	s.ahead, s.tracker = &s.state, map[int64]*tracked{}
	g.start()
	s.start()
	return s, nil
}

func newServer(g *group, c config, ln net.Listener) *Server {
	s := &Server{
		Faults: newFaults(), group: g, mu: &g.mu, ln: ln, addr: ln.Addr().String(),
		tick: c.tick, minTimeout: c.minTimeout, maxTimeout: c.maxTimeout, reapEvery: c.reapEvery, legacy: c.legacy,
		done: make(chan struct{}), reapDue: never,
		conns: map[*conn]struct{}{},
	}
	s.thief = s.steal
	// Two servers must not hand out the same sessions: a client that comes to
	// the wrong one would be let in.
	s.rand = seeded(c.seed, s.addr)
	s.reset()
	return s
}

// seeded returns a generator for what goes by a name.
func seeded(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// reset makes the server an empty one. s.mu is held, or s is not shared yet.
func (s *Server) reset() {
	s.state = newState(s.legacy)
	if s.tracker != nil {
		s.tracker = map[int64]*tracked{}
	}
	s.attached = map[int64]*conn{}
	s.dataWatches, s.childWatches = newWatchTable(), newWatchTable()
	s.thiefID = 0
}

func (s *Server) start() {
	s.wg.Add(1)
	go s.accept()
}

// Addr returns the address to dial, "127.0.0.1:port" unless WithListener says
// otherwise.
func (s *Server) Addr() string { return s.addr }

// Close ends the listener, every connection and every goroutine of the server,
// and waits for them. Sessions are not ended; nothing is written. Close again
// waits as well. To the rest of its ensemble a closed server is a killed one.
func (s *Server) Close() {
	first := s.shutDown()
	if s.member == nil {
		if first {
			s.end()
		}
		s.keeps.Wait()
	}
	s.wg.Wait()
}

// shutDown ends all that serves clients, and says whether this was the first
// call.
func (s *Server) shutDown() bool {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	if s.member != nil && s.member.role != down {
		s.member.become(down)
	}
	conns := s.sortedConns()
	s.unlock()
	if first {
		close(s.done)
		// Whether the listener was closed before is its owner's business.
		_ = s.ln.Close()
	}
	for _, c := range conns {
		c.shut()
	}
	return first
}

// accept serves the listener until the server closes.
func (s *Server) accept() {
	defer s.wg.Done()
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			select {
			case <-s.done:
				return
			case <-time.After(10 * time.Millisecond):
				// Out of file descriptors, or a listener that somebody else has
				// closed: either way Close is what ends this.
				continue
			}
		}
		s.serve(nc)
	}
}
