package zktest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Network is a TCP-like network that exists only in memory: listeners, dialers,
// a latency per link and direction, partitions and resets. It is made for
// testing/synctest, where its latencies cost nothing, and works in an ordinary
// test as well. Everything that uses one Network belongs to the bubble that
// made it.
//
// A host is a label: the IP literal of a listener, or whatever name a client
// gives to Dialer. Where a method takes a host, a listener's "ip:port" stands
// for its ip.
//
// In a bubble a seed repeats bit for bit, for every arrival has an instant of
// its own: each link and direction draws its latencies from a generator seeded
// with the seed and the two names, and only uses instants of its own lane.
// What several connections send in one instant arrives in the order of the
// connections. That holds as long as Dialer and Listen calls come in the same
// order, no two goroutines of one host dial at one instant, and none write on
// one connection at one instant; package bubble sees to the last two.
//
// Not promised: bandwidth, loss, or that a dead link is ever given up; a
// partition holds bytes back for as long as it lasts.
type Network struct {
	seed  uint64
	epoch time.Time

	// mu guards every link, connection and listener of the network: events on
	// one touch both ends, and with one mutex there is no order to get wrong.
	mu        sync.Mutex
	closed    bool
	links     map[[2]string]*link
	listeners map[string]*listener
	conns     map[*memConn]struct{}
	dials     map[*dial]struct{}
	dialers   []string
	servers   []string
	lastPort  map[string]int // by host
	latency   latency
	armed     sync.WaitGroup
}

// NewNetwork returns an empty network whose latencies follow from seed. Call it
// inside the bubble. Latencies default to 100 to 300 microseconds each way.
func NewNetwork(seed uint64) *Network {
	return &Network{
		seed:      seed,
		epoch:     time.Now(),
		links:     map[[2]string]*link{},
		listeners: map[string]*listener{},
		conns:     map[*memConn]struct{}{},
		dials:     map[*dial]struct{}{},
		lastPort:  map[string]int{},
		latency:   latency{100 * time.Microsecond, 300 * time.Microsecond},
	}
}

// firstPort is below the ports given to clients and to listeners that
// ask for port 0.
const firstPort = 40000

// now reads the monotonic clock, in nanoseconds of the epoch: a step of the
// wall clock during an ordinary test must not hold bytes back.
func (n *Network) now() int64 { return n.epoch.UnixNano() + int64(time.Since(n.epoch)) }

// port returns a free port of host. Each host counts for itself, or names would
// depend on which of two hosts dials first.
func (n *Network) port(host string) int {
	n.lastPort[host]++
	return firstPort + n.lastPort[host]
}

// Listen announces addr, an IP literal and a port, on this network alone; no
// socket is opened. Port 0 means a free one. It fails if addr is in use, is no
// IP literal with a port, or the network is closed (net.ErrClosed).
func (n *Network) Listen(addr string) (net.Listener, error) {
	host, port, err := splitLiteral(addr)
	if err != nil {
		return nil, fmt.Errorf("zktest: listen: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: memAddr(addr), Err: net.ErrClosed}
	}
	if port == 0 {
		port = n.port(host)
	}
	at := memAddr(net.JoinHostPort(host, strconv.Itoa(port)))
	if n.listeners[string(at)] != nil {
		return nil, &net.OpError{Op: "listen", Net: "tcp", Addr: at, Err: errors.New("address already in use")}
	}
	l := &listener{n: n, addr: at, host: host}
	l.wake.L = &n.mu
	n.listeners[string(at)] = l
	// Links are made here and in Dialer, not at the first dial, so that lanes do
	// not depend on which of two clients dials first.
	if !slices.Contains(n.servers, host) {
		n.servers = append(n.servers, host)
	}
	for _, d := range n.dialers {
		n.link(d, host)
		n.link(host, d)
	}
	return l, nil
}

// Dialer returns what a client on host dials with; it has the type of
// go-zookeeper's Dialer. A dial takes a round trip, is refused if nobody
// listens, and while the way there or back is cut it hangs until its timeout
// (for ever if that is 0 or less), to succeed if the heal comes first. Addresses
// are IP literals with a port: nothing is resolved.
func (n *Network) Dialer(host string) func(network, address string, timeout time.Duration) (net.Conn, error) {
	host = hostOf(host)
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.dialers, host) {
		n.dialers = append(n.dialers, host)
	}
	for _, s := range n.servers {
		n.link(host, s)
		n.link(s, host)
	}
	return func(network, address string, timeout time.Duration) (net.Conn, error) {
		return n.dial(host, network, address, timeout)
	}
}

// SetLatency makes what is sent on the link from one host to another, from now
// on, take between min and max; what is on its way keeps its time, and nothing
// overtakes. It panics unless 0 <= min <= max, which is at most a century.
func (n *Network) SetLatency(from, to string, min, max time.Duration) {
	l := checkedLatency(min, max)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(hostOf(from), hostOf(to)).latency = &l
}

// SetDefaultLatency does so for all links that SetLatency has not named.
func (n *Network) SetDefaultLatency(min, max time.Duration) {
	l := checkedLatency(min, max)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.latency = l
}

// Partition cuts both directions between hosts a and b. Bytes and ends of
// streams that are on their way, or sent later, wait. Nothing is lost or
// reordered: all is delivered after the heal. Neither side is told.
func (n *Network) Partition(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(hostOf(a), hostOf(b)).cut()
	n.link(hostOf(b), hostOf(a)).cut()
}

// PartitionOneWay cuts the direction from one host to another alone.
func (n *Network) PartitionOneWay(from, to string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(hostOf(from), hostOf(to)).cut()
}

// Heal ends partitions between a and b, both directions. What waited sets out
// now, with a new latency each.
func (n *Network) Heal(a, b string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.link(hostOf(a), hostOf(b)).heal()
	n.link(hostOf(b), hostOf(a)).heal()
}

// HealAll ends all partitions.
func (n *Network) HealAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range n.links {
		l.heal()
	}
}

// Reset breaks every connection between a and b, partition or not: within
// microseconds both sides fail with ECONNRESET, and bytes on their way, or not
// yet read, are lost. Connections dialled later are not affected.
func (n *Network) Reset(a, b string) {
	a, b = hostOf(a), hostOf(b)
	n.mu.Lock()
	defer n.mu.Unlock()
	var ends []*memConn
	for c := range n.conns {
		from, to := c.out.from, c.out.to
		if from == a && to == b || from == b && to == a {
			ends = append(ends, c)
		}
	}
	slices.SortFunc(ends, func(x, y *memConn) int {
		return strings.Compare(x.name(), y.name())
	})
	for _, c := range ends {
		// Each end on an instant of its own, or a server's goroutines would race.
		c.peer.out.express(func() { c.reset() })
	}
}

// Close ends every connection, listener and dial with net.ErrClosed, drops what
// is on its way, and returns once no timer of the network is left. Calls on the
// network's connections that were blocked have been told to return. Close again
// does nothing.
func (n *Network) Close() {
	n.mu.Lock()
	n.closed = true
	for _, l := range n.links {
		l.drop()
	}
	for _, l := range n.listeners {
		l.shut()
	}
	for c := range n.conns {
		c.shut()
	}
	for d := range n.dials {
		d.finish(net.ErrClosed)
	}
	n.mu.Unlock()
	n.armed.Wait()
}

// memAddr is the address of an end of a connection, "host:port".
type memAddr string

func (a memAddr) Network() string { return "tcp" }
func (a memAddr) String() string  { return string(a) }

// splitLiteral refuses names: resolving one inside a bubble blocks on a
// goroutine outside it, which ends the test binary.
func splitLiteral(addr string) (host string, port int, err error) {
	host, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, err
	}
	if net.ParseIP(host) == nil {
		return "", 0, fmt.Errorf("address %q: %q is no IP literal", addr, host)
	}
	port, err = strconv.Atoi(p)
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("address %q: bad port", addr)
	}
	return host, port, nil
}

// hostOf strips the port from a listener's address and leaves a label alone.
func hostOf(s string) string {
	if !strings.Contains(s, ":") {
		return s
	}
	if host, _, err := splitLiteral(s); err == nil {
		return host
	}
	return s
}
