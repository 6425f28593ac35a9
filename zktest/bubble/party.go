package bubble

import (
	"bytes"
	"cmp"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// party is all who dial one address with one timeout from one host in one
// instant. Which of them dials first is chance, and nothing tells them apart
// before they have said something. So they dial together and get their
// connections together, and who has which is settled by what they send first.
type party struct {
	addr, remote net.Addr
	doors        chan struct{} // closed when the instant is over
	through      chan struct{} // closed when all dials are

	mu      sync.Mutex
	guests  int
	dialled int
	conns   []net.Conn // not given away yet, in the order of their addresses
	err     error      // of any dial
	waiting []*inOrder // for a connection
}

// dialer dials from one host.
type dialer struct {
	seed uint64
	host label
	dial func(network, address string, timeout time.Duration) (net.Conn, error)

	mu      sync.Mutex
	parties map[invitation]*party // of this instant
}

// invitation is what tells those who dial in one instant apart.
type invitation struct {
	address string
	timeout time.Duration
}

// label is an address of which only the name is known.
type label string

func (l label) Network() string { return "tcp" }
func (l label) String() string  { return string(l) }

func (d *dialer) join(to invitation) *party {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.parties) == 0 {
		time.AfterFunc(1, d.open)
	}
	p := d.parties[to]
	if p == nil {
		p = &party{addr: d.host, remote: label(to.address), doors: make(chan struct{}), through: make(chan struct{})}
		d.parties[to] = p
	}
	p.guests++
	return p
}

// open opens the doors once the instant is over, one party after the other.
func (d *dialer) open() {
	d.mu.Lock()
	parties := d.parties
	d.parties = map[invitation]*party{}
	d.mu.Unlock()
	for i, to := range slices.SortedFunc(maps.Keys(parties), func(a, b invitation) int {
		return cmp.Or(strings.Compare(a.address, b.address), cmp.Compare(a.timeout, b.timeout))
	}) {
		if i == 0 {
			// No timer of no time, which fires in the goroutine that sets it: under the race
			// detector two of a bubble's at once crash Go 1.26, since both run with the
			// bubble's only race context.
			close(parties[to].doors)
			continue
		}
		time.AfterFunc(time.Duration(i), func() { close(parties[to].doors) })
	}
}

// Dial has the type of go-zookeeper's Dialer.
func (d *dialer) Dial(network, address string, timeout time.Duration) (net.Conn, error) {
	p := d.join(invitation{address, timeout})
	<-p.doors
	conn, err := d.dial(network, address, timeout)
	if p.arrived(conn, err) {
		close(p.through)
	}
	<-p.through
	if err := p.broken(); err != nil {
		if conn != nil {
			_ = conn.Close() // nobody has written to it
		}
		return nil, err
	}
	c := newInOrder(d.seed, p)
	if p.guests == 1 {
		c.bind(conn)
	}
	return c, nil
}

// arrived takes in what came of one dial, and says whether it was the last.
func (p *party) arrived(conn net.Conn, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dialled++; err != nil {
		p.err = err
	} else {
		p.conns = append(p.conns, conn)
	}
	slices.SortFunc(p.conns, func(a, b net.Conn) int {
		return strings.Compare(a.LocalAddr().String(), b.LocalAddr().String())
	})
	return p.dialled == p.guests
}

// broken returns why they get no connections: what fails one fails all, or it
// would be chance whom.
func (p *party) broken() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// enlist has c get its connection once this instant is over.
func (p *party) enlist(c *inOrder) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.enlisted {
		return
	}
	c.enlisted = true
	if len(p.waiting) == 0 {
		time.AfterFunc(1, p.settle)
	}
	p.waiting = append(p.waiting, c)
}

// settle gives those who wait their connections, in the order of what they have
// to say.
func (p *party) settle() {
	for _, c := range p.pair() {
		c.flush()
		c.mu.Lock()
		closing := c.closing
		c.mu.Unlock()
		if closing {
			_ = c.Close() // its caller was told that it is closed
		}
	}
}

func (p *party) pair() []*inOrder {
	p.mu.Lock()
	waiting := p.waiting
	p.waiting = nil
	slices.SortStableFunc(waiting, func(a, b *inOrder) int { return bytes.Compare(a.said(), b.said()) })
	conns := p.conns[:len(waiting)]
	p.conns = p.conns[len(waiting):]
	p.mu.Unlock()
	for i, c := range waiting {
		c.bind(conns[i])
	}
	return waiting
}

// said returns what c has to say first.
func (c *inOrder) said() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}
