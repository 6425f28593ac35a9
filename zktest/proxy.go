package zktest

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// Proxy stands between clients and a ZooKeeper server on this machine, reads
// the frames that pass, and breaks them as told: it has the same Faults as
// Server, for a server that has none.
//
// Faults that only a server can have, such as Stall, Wipe and SetSequence, are
// not here. Those that need a session of their own, Expire and Steal, use
// connections straight to the server, which no fault applies to.
type Proxy struct {
	*Faults

	target string
	ln     net.Listener
	wg     sync.WaitGroup
	done   chan struct{}
	thefts chan theft

	mu     sync.Mutex // never held while a connection is used
	closed bool
	pipes  map[*pipe]struct{}
}

// NewProxy starts a Proxy for a test and closes it when the test ends. It fails
// the test if it cannot start.
func NewProxy(tb TB, target string) *Proxy {
	tb.Helper()
	p, err := StartProxy(target)
	if err != nil {
		tb.Fatalf("%v", err)
		return nil
	}
	tb.Cleanup(p.Close)
	return p
}

// StartProxy starts a Proxy on a free port of 127.0.0.1, in front of target,
// "host:port", which need not be there yet. It is an error if host is neither a
// loopback IP literal nor localhost, which stands for 127.0.0.1: a test must
// not send anything off its machine.
func StartProxy(target string) (*Proxy, error) {
	addr, err := loopback(target)
	if err != nil {
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("zktest: proxy: %w", err)
	}
	p := &Proxy{
		Faults: newFaults(), target: addr, ln: ln,
		done: make(chan struct{}), thefts: make(chan theft), pipes: map[*pipe]struct{}{},
	}
	p.thief, p.infers = p.steal, true
	p.wg.Add(2)
	go p.accept()
	go p.thieve()
	return p, nil
}

func loopback(target string) (string, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return "", fmt.Errorf("zktest: proxy target: %w", err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", fmt.Errorf("zktest: proxy target %q: only a loopback IP address or localhost is dialled, so that no test reaches beyond this machine", target)
	}
	return net.JoinHostPort(host, port), nil
}

// Addr returns the address to dial, "127.0.0.1:port".
func (p *Proxy) Addr() string { return p.ln.Addr().String() }

// Close closes the listener and every connection, and waits for every goroutine
// of the proxy. Sessions live on, but for the one that owns what was stolen.
// Close again waits as well.
func (p *Proxy) Close() {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	pipes := make([]*pipe, 0, len(p.pipes))
	for c := range p.pipes {
		pipes = append(pipes, c)
	}
	p.mu.Unlock()
	if first {
		close(p.done)
		// It is ours alone, so it cannot have been closed before.
		_ = p.ln.Close()
	}
	for _, c := range pipes {
		c.hangUp()
	}
	p.wg.Wait()
}

func (p *Proxy) accept() {
	defer p.wg.Done()
	for {
		client, err := p.ln.Accept()
		if err != nil {
			select {
			case <-p.done:
				return
			case <-time.After(10 * time.Millisecond):
				// Out of file descriptors; Close is what ends this.
				continue
			}
		}
		c := &pipe{p: p, client: client, done: make(chan struct{})}
		t, ok := p.Faults.accept(client, c.hangUp, c.done)
		if !ok {
			c.hangUp()
			continue
		}
		c.tap = t
		if !p.take(c) {
			c.hangUp()
			t.forget()
			return
		}
		go c.serve()
	}
}

// take puts a connection into the books; false if the proxy has been closed.
func (p *Proxy) take(c *pipe) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.pipes[c] = struct{}{}
	p.wg.Add(1)
	return true
}
