package zktest

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// listener hands out the connections that have arrived at an address.
// Network.mu guards it.
type listener struct {
	n       *Network
	addr    memAddr
	host    string
	wake    sync.Cond
	backlog []*memConn
	closed  bool
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	for !l.closed && len(l.backlog) == 0 {
		l.wake.Wait()
	}
	if l.closed {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	c := l.backlog[0]
	l.backlog[0] = nil
	l.backlog = l.backlog[1:]
	return c, nil
}

// Close resets the connections that nobody has accepted; the others live on.
func (l *listener) Close() error {
	l.n.mu.Lock()
	defer l.n.mu.Unlock()
	if l.closed {
		return &net.OpError{Op: "close", Net: "tcp", Addr: l.addr, Err: net.ErrClosed}
	}
	for _, c := range l.backlog {
		peer := c.peer
		c.out.carry(c, func() { peer.broke() })
		c.shut()
	}
	l.shut()
	return nil
}

func (l *listener) shut() {
	l.closed = true
	l.backlog = nil
	delete(l.n.listeners, string(l.addr))
	l.wake.Broadcast()
}

// Addr returns the address, "ip:port".
func (l *listener) Addr() net.Addr { return l.addr }

// dial is one attempt to connect. Network.mu guards it.
type dial struct {
	n       *Network
	wake    sync.Cond
	done    bool
	err     error
	timeout alarm
}

func (d *dial) finish(err error) {
	if d.done {
		return
	}
	d.done, d.err = true, err
	d.timeout.stop()
	delete(d.n.dials, d)
	d.wake.Broadcast()
}

func (n *Network) dial(host, network, address string, timeout time.Duration) (net.Conn, error) {
	if !strings.HasPrefix(network, "tcp") {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: memAddr(address), Err: net.UnknownNetworkError(network)}
	}
	to, port, err := splitLiteral(address)
	if err != nil {
		return nil, fmt.Errorf("zktest: dial: %w", err)
	}
	remote := memAddr(net.JoinHostPort(to, strconv.Itoa(port)))
	near, err := n.handshake(host, to, remote, timeout)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Net: network, Addr: remote, Err: err}
	}
	return near, nil
}

func (n *Network) handshake(from, to string, remote memAddr, timeout time.Duration) (*memConn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return nil, net.ErrClosed
	}
	local := memAddr(net.JoinHostPort(from, strconv.Itoa(n.port(from))))
	near, far := n.connect(local, remote, from, to)
	d := &dial{n: n}
	d.wake.L = &n.mu
	d.timeout = alarm{n: n, fire: func() { d.finish(os.ErrDeadlineExceeded) }}
	n.dials[d] = struct{}{}
	if timeout > 0 {
		d.timeout.set(timeout)
	}
	accepted := false
	near.out.carry(near, func() {
		if d.done {
			return
		}
		l := n.listeners[string(remote)]
		if l == nil {
			far.out.carry(far, func() { d.finish(syscall.ECONNREFUSED) })
			return
		}
		accepted = true
		near.open()
		far.open()
		l.backlog = append(l.backlog, far)
		l.wake.Signal()
		far.out.carry(far, func() { d.finish(nil) })
	})
	for !d.done {
		d.wake.Wait()
	}
	if d.err != nil {
		near.shut()
		if accepted {
			near.out.carry(near, func() { far.broke() })
		}
		return nil, d.err
	}
	return near, nil
}
