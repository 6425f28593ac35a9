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

// Server is a ZooKeeper in memory, one standalone server. All its methods,
// those of Faults included, are safe for concurrent use.
type Server struct {
	*Faults

	ln    net.Listener
	addr  string
	epoch time.Time

	tick, minTimeout, maxTimeout time.Duration
	reapEvery                    time.Duration
	legacy                       bool

	wg   sync.WaitGroup
	done chan struct{}
	wake chan struct{} // tells keepTime to look again; capacity 1

	// mu guards everything below: pure state. It is never held while a
	// connection is used or a channel operated; what is to be sent waits in a
	// queue of its connection, and unlock wakes the writers.
	mu     sync.Mutex
	closed bool
	rand   *rand.Rand
	state
	dataWatches  *watchTable
	childWatches *watchTable
	conns        map[*conn]struct{}
	accepted     int
	received     int64
	sent         int64
	thiefID      int64

	dirty  []*conn // have something new in their queues
	doomed []*conn // are to be shut at once: their writers are stuck
	retime bool    // keepTime has to look again
	armed  time.Duration

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
	c := config{tick: 100 * time.Millisecond, minTimeout: 200 * time.Millisecond, maxTimeout: time.Minute,
		seed: 1, reapEvery: time.Minute}
	for _, o := range opts {
		o(&c)
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
	s := &Server{
		Faults: newFaults(), ln: c.listener, addr: c.listener.Addr().String(), epoch: time.Now(),
		tick: c.tick, minTimeout: c.minTimeout, maxTimeout: c.maxTimeout, reapEvery: c.reapEvery, legacy: c.legacy,
		done: make(chan struct{}), wake: make(chan struct{}, 1),
		armed: never, reapDue: never,
		conns: map[*conn]struct{}{},
	}
	s.thief = s.steal
	// Two servers must not hand out the same sessions: a client that comes to
	// the wrong one would be let in.
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.addr))
	s.rand = rand.New(rand.NewPCG(c.seed, h.Sum64()))
	s.reset()
	s.wg.Add(2)
	go s.accept()
	go s.keepTime()
	return s, nil
}

// reset makes the server an empty one. s.mu is held, or s is not shared yet.
func (s *Server) reset() {
	s.state = newState(s.legacy)
	s.dataWatches, s.childWatches = newWatchTable(), newWatchTable()
	s.thiefID = 0
}

// Addr returns the address to dial, "127.0.0.1:port" unless WithListener says
// otherwise.
func (s *Server) Addr() string { return s.addr }

// Close ends the listener, every connection and every goroutine of the server,
// and waits for them. Sessions are not ended; nothing is written. Close again
// waits as well.
func (s *Server) Close() {
	s.mu.Lock()
	first := !s.closed
	s.closed = true
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
	s.wg.Wait()
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

// unlock releases s.mu and wakes whoever has something to do since.
func (s *Server) unlock() {
	dirty, doomed, retime := s.dirty, s.doomed, s.retime
	s.dirty, s.doomed, s.retime = nil, nil, false
	s.mu.Unlock()
	for _, c := range doomed {
		c.shut()
	}
	for _, c := range dirty {
		c.out.signal()
	}
	if retime {
		select {
		case s.wake <- struct{}{}:
		default:
		}
	}
}
